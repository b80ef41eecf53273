import { Component, lazy, type ReactNode, Suspense, useEffect, useState, useSyncExternalStore } from 'react';
import { RouterProvider } from 'react-aria-components';
import { Route, Router, Switch, useLocation } from 'wouter';
import { ApiProvider } from './lib/api';
import { readStatus, start, subscribe } from './lib/session';
import { Shell } from './shell/shell';
import { SignInDialog, SignInPage } from './shell/sign-in';
import { applyTheme } from './shell/theme';
import { TextsProvider, useTexts } from './texts/texts';
import { EmptyState, ErrorState, Loading, Messages } from './ui/feedback';
import { Page } from './ui/layout';

const BASE = '/console';

/** The pages, by their paths below `BASE`. Each is loaded when it is opened first. */
const PAGES = [
  ['/', lazy(() => import('./pages/overview/overview'))],
  ['/products', lazy(() => import('./pages/products/products'))],
  ['/products/:id', lazy(() => import('./pages/product/product'))],
  ['/listings', lazy(() => import('./pages/listings/listings'))],
  ['/listings/:id', lazy(() => import('./pages/listings/listing'))],
  ['/media', lazy(() => import('./pages/media/media'))],
  ['/reviews', lazy(() => import('./pages/reviews/reviews'))],
  ['/imports', lazy(() => import('./pages/imports/imports'))],
  ['/imports/:id', lazy(() => import('./pages/imports/import'))],
  ['/channels', lazy(() => import('./pages/channels/channels'))],
  ['/history', lazy(() => import('./pages/history/history'))],
  ['/proposals', lazy(() => import('./pages/proposals/proposals'))],
  ['/proposals/:id', lazy(() => import('./pages/proposals/proposal'))],
  ['/webhooks', lazy(() => import('./pages/webhooks/webhooks'))],
  ['/webhooks/:id', lazy(() => import('./pages/webhooks/webhook'))],
  ['/keys', lazy(() => import('./pages/keys/keys'))],
  ['/store', lazy(() => import('./pages/store/store'))],
] as const;

/** The pages of operators, which have a sign-in and a frame of their own. */
const Operator = lazy(() => import('./pages/operator/operator'));

export function App() {
  useEffect(applyTheme, []);
  return (
    <TextsProvider>
      <Router base={BASE}>
        <Navigation>
          <Suspense fallback={<Loading />}>
            <Switch>
              <Route path="/operator/*?">
                <Operator />
              </Route>
              <Route>
                <Merchant />
              </Route>
            </Switch>
          </Suspense>
          <Messages />
        </Navigation>
      </Router>
    </TextsProvider>
  );
}

/** Lets links of react-aria open pages without loading the application again. Their addresses are below `BASE`. */
function Navigation({ children }: { readonly children: ReactNode }) {
  const [, navigate] = useLocation();
  return (
    <RouterProvider
      navigate={(href) => navigate(href)}
      useHref={(href) => (href.startsWith('/') ? BASE + href : href)}
    >
      {children}
    </RouterProvider>
  );
}

/** Shows an error of a page instead of the page. The navigation stays. */
class Guard extends Component<{ readonly children: ReactNode }, { readonly error?: unknown }> {
  override state: { readonly error?: unknown } = {};
  static getDerivedStateFromError = (error: unknown) => ({ error });
  override render() {
    if (this.state.error === undefined) return this.props.children;
    return (
      <Page title="">
        <ErrorState error={this.state.error} onRetry={() => this.setState({ error: undefined })} />
      </Page>
    );
  }
}

function Merchant() {
  const t = useTexts();
  const status = useSyncExternalStore(subscribe, readStatus);
  const [error, setError] = useState<unknown>();
  const begin = () => {
    setError(undefined);
    start().catch(setError);
  };
  useEffect(() => {
    if (readStatus() === 'starting') begin();
  }, []);
  if (error) return <ErrorState error={error} onRetry={begin} />;
  if (status === 'starting') return <Loading />;
  if (status === 'signed_out') return <SignInPage />;
  return (
    <ApiProvider>
      <Shell>
        <Suspense
          fallback={
            <Page title="">
              <Loading />
            </Page>
          }
        >
          <Switch>
            {PAGES.map(([path, Content]) => (
              <Route key={path} path={path}>
                {(params: { id?: string }) => (
                  <Guard key={params.id}>
                    <Content id={params.id ?? ''} />
                  </Guard>
                )}
              </Route>
            ))}
            <Route>
              <Page title={t.shell.notFound}>
                <EmptyState icon="info" title={t.shell.notFound} />
              </Page>
            </Route>
          </Switch>
        </Suspense>
      </Shell>
      {status === 'ended' && <SignInDialog />}
    </ApiProvider>
  );
}
