/**
 * The frame of every page.
 *
 * This folder:
 *   logo.tsx    the sign of harness
 *   sign-in.tsx asks for a key or an access token
 */
import { Link, Outlet, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useMemo, useState } from 'react';
import { ApiError } from '../lib/api.ts';
import { useCan, useMe, useSignIn } from '../lib/session.ts';
import { useShortcuts } from '../lib/shortcuts.ts';
import { type Theme, useTheme } from '../lib/theme.ts';
import { pages } from '../pages/pages.ts';
import { ActionButton } from '../parts/action-button.tsx';
import { Failure } from '../parts/failure.tsx';
import { Modal } from '../parts/modal.tsx';
import { Toasts } from '../parts/toast.tsx';
import { Logo } from './logo.tsx';
import { SignIn } from './sign-in.tsx';

/** The frame of every page: navigation, who is signed in, shortcuts. Asks for a credential where the gateway needs one. */
export function Shell(): ReactNode {
  const me = useMe();
  if (me.isPending) return null;
  if (me.error instanceof ApiError && me.error.status === 401)
    return <SignIn ended={me.data !== undefined} />;
  if (!me.data)
    return (
      <main className="sign-in">
        <div>
          <Failure error={me.error} />
          <p className="row">
            <button type="button" onClick={() => void me.refetch()}>
              Try again
            </button>
          </p>
        </div>
      </main>
    );
  return <Frame />;
}

function Frame(): ReactNode {
  const can = useCan();
  const navigate = useNavigate();
  const [showsHelp, showHelp] = useState(false);
  const shown = pages.flatMap((page) => {
    const { nav, scopes } = page;
    return nav && (scopes?.some(can) ?? true) ? [{ ...page, nav }] : [];
  });
  const shortcuts = useMemo(
    () => ({
      '?': () => showHelp(true),
      '/': () => document.querySelector<HTMLElement>('input[type="search"]')?.focus(),
      ...Object.fromEntries(
        pages.flatMap(({ nav, path }) => (nav ? [[`g ${nav.key}`, () => void navigate({ to: path })]] : [])),
      ),
    }),
    [navigate],
  );
  useShortcuts(shortcuts);
  return (
    <>
      <div className="frame">
        <a className="skip button" href="#main">
          Skip to the content
        </a>
        <header className="side">
          <div className="brand">
            <Logo /> harness
          </div>
          <nav aria-label="Pages">
            {shown.map(({ path, nav }) => (
              <Link
                key={path}
                to={path}
                activeOptions={{ exact: path === '/' }}
                activeProps={{ className: 'active' }}
              >
                {nav.name}
                <span className="hint" aria-hidden="true">
                  g {nav.key}
                </span>
              </Link>
            ))}
          </nav>
          <Foot onHelp={() => showHelp(true)} />
        </header>
        <main id="main" className="main" tabIndex={-1}>
          <Outlet />
        </main>
        {showsHelp && (
          <Modal label="Shortcuts" onClose={() => showHelp(false)}>
            <h2>Shortcuts</h2>
            <dl className="facts">
              {shown.map(({ nav }) => (
                <Shortcut key={nav.key} keys={`g ${nav.key}`} does={nav.name} />
              ))}
              <Shortcut keys="/" does="Search on this page" />
              <Shortcut keys="j k" does="Next and previous row; Enter opens it" />
              <Shortcut keys="m" does="Write a message (on a thread)" />
              <Shortcut keys="?" does="This list" />
            </dl>
          </Modal>
        )}
      </div>
      <Toasts />
    </>
  );
}

const Shortcut = ({ keys, does }: { keys: string; does: string }) => (
  <>
    <dt>
      {keys.split(' ').map((key) => (
        <kbd key={key}>{key}</kbd>
      ))}
    </dt>
    <dd>{does}</dd>
  </>
);

const nextTheme: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' };
const themeNames: Record<Theme, string> = { system: 'System', light: 'Light', dark: 'Dark' };

function Foot({ onHelp }: { onHelp(): void }): ReactNode {
  const { data: me } = useMe();
  const { signOut } = useSignIn();
  const [theme, setTheme] = useTheme();
  if (!me) return null;
  return (
    <div className="foot">
      <div className="who">
        {me.signIn === 'none' ? 'No key needed: only this machine' : me.keyId}
        <br />
        tenant {me.tenant}
      </div>
      <div className="row wrap">
        <button type="button" onClick={() => setTheme(nextTheme[theme])} title="Theme: system, light or dark">
          {themeNames[theme]}
        </button>
        <button type="button" onClick={onHelp} title="Shortcuts" aria-label="Shortcuts">
          ?
        </button>
        {me.signIn === 'needed' && <ActionButton onAct={signOut}>Sign out</ActionButton>}
      </div>
    </div>
  );
}
