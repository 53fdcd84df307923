import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';

/** The head of a page: where one is, and what can be done here. Sets the title of the browser's tab. */
export function PageHead(props: {
  title: string;
  /** The page above. */
  up?: { name: string; href: string };
  /** Facts beside the title. */
  facts?: ReactNode;
  /** Buttons. */
  children?: ReactNode;
}): ReactNode {
  const { title, up, facts, children } = props;
  useEffect(() => {
    document.title = `${title} · harness`;
  }, [title]);
  return (
    <header className="head">
      {up && (
        <span className="crumb">
          <Link to={up.href} className="link">
            {up.name}
          </Link>{' '}
          <span aria-hidden="true">/</span>
        </span>
      )}
      <h1 className={up ? 'mono cut' : ''}>{title}</h1>
      {facts}
      <div className="actions">{children}</div>
    </header>
  );
}
