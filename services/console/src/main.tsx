/**
 * The operator's console.
 *
 *   app/     the frame: navigation, signing in
 *   pages/   one folder a page; pages.ts lists them
 *   parts/   what several pages are made of
 *   lib/     the gateway's API, its event streams, formats
 *   styles/  colours, elements, parts
 */
import './styles.css';
import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  RouterProvider,
} from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Shell } from './app/shell.tsx';
import { ApiError } from './lib/api.ts';
import { pages } from './pages/pages.ts';
import { Failure } from './parts/failure.tsx';

const isTemporary = (error: Error) =>
  error instanceof ApiError && (error.status === 0 || error.status === 429 || error.status >= 500);

const queries = new QueryClient({
  queryCache: new QueryCache({
    // The session has ended: the frame asks for a credential again.
    onError: (error, { queryKey }) => {
      if (error instanceof ApiError && error.status === 401 && queryKey[0] !== 'me')
        void queries.invalidateQueries({ queryKey: ['me'] });
    },
  }),
  defaultOptions: {
    queries: {
      retry: (count, error) => isTemporary(error) && count < 3,
      retryDelay: (count) => Math.min(500 * 2 ** count, 5_000),
      networkMode: 'always',
      staleTime: 1_000,
    },
  },
});

const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => <p className="empty">There is no such page.</p>,
});
const routes = pages.map(({ path, load }) =>
  createRoute({ getParentRoute: () => root, path, component: lazyRouteComponent(load) }),
);
const router = createRouter({
  routeTree: root.addChildren(routes),
  basepath: '/console',
  defaultPreload: 'intent',
  defaultErrorComponent: ({ error }) => <Failure error={error} />,
});

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
