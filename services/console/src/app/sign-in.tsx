import { type FormEvent, type ReactNode, useState } from 'react';
import { useSignIn } from '../lib/session.ts';
import { Failure } from '../parts/failure.tsx';
import { Logo } from './logo.tsx';

/** Asks for a key or an access token. The gateway responds with a cookie that no script can read; the key is not kept. */
export function SignIn({ ended }: { ended: boolean }): ReactNode {
  const { signIn } = useSignIn();
  const [failure, setFailure] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const key = String(new FormData(event.currentTarget).get('key') ?? '').trim();
    if (key === '') return;
    setBusy(true);
    setFailure(undefined);
    await signIn(key).catch(setFailure);
    setBusy(false);
  };
  return (
    <main className="sign-in">
      <form className="panel" onSubmit={(event) => void submit(event)}>
        <div className="brand">
          <Logo /> harness
        </div>
        <h1>Sign in</h1>
        {ended && <p className="muted">Your session has ended, or its key was revoked or changed.</p>}
        <label className="field">
          <span>API key or access token</span>
          <input name="key" type="password" autoComplete="current-password" spellCheck={false} required />
          <small>
            You see and may do what its scopes allow. The session ends with it, or after 12 hours.
          </small>
        </label>
        {!window.isSecureContext && (
          <p className="failure">
            This page was loaded by plain http from another machine, so the browser will not keep you signed
            in. Open it by https, or on the machine of the gateway at http://127.0.0.1.
          </p>
        )}
        {failure !== undefined && <Failure error={failure} />}
        <button type="submit" className="primary" disabled={isBusy}>
          Sign in
        </button>
      </form>
    </main>
  );
}
