import { MutationCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { CatalogApiError } from 'catalog-client';
import { useCallback, useEffect, useState, useSyncExternalStore } from 'react';
import { Redirect, Route, Switch } from 'wouter';
import { messageOf } from '../../lib/errors';
import { Frame, type NavigationItem } from '../../shell/frame';
import { CredentialForm } from '../../shell/sign-in';
import { type Texts, useTexts } from '../../texts/texts';
import { EmptyState, ErrorState, Loading, sayError } from '../../ui/feedback';
import { Page } from '../../ui/layout';
import { Dialog } from '../../ui/overlay';
import { session, signIn, signOut, start } from './api';
import DeadLettersPage from './dead-letters';
import EventsPage from './events';
import HealthPage from './health';
import KeysPage from './keys';
import ProjectionsPage from './projections';
import StoresPage from './stores';
import StreamPage from './stream';
import './operator.css';

const HOME = '/operator/health';

const sectionsOf = (t: Texts): NavigationItem[][] => [
  [
    { path: HOME, icon: 'operator', label: t.operator.health.title },
    { path: '/operator/projections', icon: 'refresh', label: t.operator.projections.title },
    { path: '/operator/dead-letters', icon: 'warning', label: t.operator.deadLetters.title },
    { path: '/operator/events', icon: 'history', label: t.operator.events.title },
  ],
  [
    { path: '/operator/stores', icon: 'store', label: t.operator.stores.title },
    { path: '/operator/keys', icon: 'key', label: t.keys.title },
  ],
];

/** A write outdates all that is shown: a retry changes the documents, a suspension the keys. */
function createQueries(): QueryClient {
  const queries: QueryClient = new QueryClient({
    defaultOptions: { queries: { retry: false, networkMode: 'always', staleTime: 2_000 } },
    mutationCache: new MutationCache({ onSettled: () => void queries.invalidateQueries() }),
  });
  return queries;
}

/** The pages of operators. Asks for the token first, and again over the page if the session ends. */
export default function OperatorPages() {
  const t = useTexts();
  const status = useSyncExternalStore(session.subscribe, session.read);
  const [queries] = useState(createQueries);
  const [fault, setFault] = useState<unknown>();
  const begin = useCallback(() => {
    setFault(undefined);
    start().catch(setFault);
  }, []);
  useEffect(begin, [begin]);
  if (fault && status === 'starting') return <NotStarted error={fault} onRetry={begin} />;
  if (status === 'starting') return <Loading />;
  if (status === 'signed_out')
    return (
      <div className="sign-in">
        <Page title={t.operator.title}>
          <TokenForm />
        </Page>
      </div>
    );
  return (
    <QueryClientProvider client={queries}>
      <Frame
        name={t.operator.title}
        groups={sectionsOf(t)}
        onSignOut={() => void signOut().catch((error: unknown) => sayError(error, t))}
      >
        <Switch>
          <Route path={HOME} component={HealthPage} />
          <Route path="/operator/projections/:realm?">
            {({ realm }) => <ProjectionsPage realm={realm ?? 'live'} />}
          </Route>
          <Route path="/operator/dead-letters" component={DeadLettersPage} />
          <Route path="/operator/events" component={EventsPage} />
          <Route path="/operator/events/:name">{({ name }) => <StreamPage key={name} name={name} />}</Route>
          <Route path="/operator/stores" component={StoresPage} />
          <Route path="/operator/keys" component={KeysPage} />
          <Route path="/operator">
            <Redirect to={HOME} replace />
          </Route>
          <Route>
            <Page title={t.shell.notFound}>
              <EmptyState icon="info" title={t.shell.notFound} />
            </Page>
          </Route>
        </Switch>
      </Frame>
      {status === 'ended' && (
        <Dialog title={t.session.ended} isOpen isDismissable={false} onClose={() => {}}>
          <p>{t.session.endedNote}</p>
          <TokenForm />
        </Dialog>
      )}
    </QueryClientProvider>
  );
}

/** Without a token in its settings, the service has no interface for operators. */
function NotStarted({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  const t = useTexts();
  const is_off = error instanceof CatalogApiError && error.status === 404;
  return (
    <Page title={t.operator.title}>
      {is_off ? (
        <EmptyState icon="operator" title={t.operator.off}>
          {t.operator.offNote}
        </EmptyState>
      ) : (
        <ErrorState error={error} onRetry={onRetry} />
      )}
    </Page>
  );
}

function TokenForm() {
  const t = useTexts();
  const reasonOf = (error: unknown): string => {
    const status = error instanceof CatalogApiError ? error.status : undefined;
    if (status === 429) return t.session.tooMany;
    return status === 401 ? t.operator.refused : messageOf(error, t);
  };
  return (
    <CredentialForm
      label={t.operator.token}
      note={t.operator.tokenNote}
      onSubmit={signIn}
      reasonOf={reasonOf}
    />
  );
}
