import { useQuery } from '@tanstack/react-query';
import { CatalogConnectionError } from 'catalog-client';
import { lazy, Suspense } from 'react';
import { Link } from 'wouter';
import { messageOf } from '../../lib/errors';
import { formatNumber } from '../../lib/format';
import { useLocale, useTexts } from '../../texts/texts';
import { Badge, Loading, type Tone } from '../../ui/feedback';
import { Icon } from '../../ui/icon';
import { Card, Page } from '../../ui/layout';
import { type Health, operator, REALMS, type Realm, type RealmHealth } from './api';
import { addSample, EVERY_MS, historyOf } from './history';
import { clockOf } from './parts';
import { TaskBadge } from './task';

const Plot = lazy(() => import('./plot'));

const TONES = { ok: 'good', attention: 'warn', down: 'bad', silent: 'bad' } as const;

async function readHealth(): Promise<Health> {
  try {
    const health = await operator.health();
    addSample(health);
    return health;
  } catch (error) {
    addSample(undefined);
    throw error;
  }
}

/** The state of the service at a glance, and the last minutes of its projections. Reads them again and again. */
export default function HealthPage() {
  const t = useTexts();
  const { data, error, dataUpdatedAt } = useQuery({
    queryKey: ['health'],
    queryFn: readHealth,
    refetchInterval: EVERY_MS,
  });
  const state = error ? 'silent' : data?.state;
  return (
    <Page
      title={t.operator.health.title}
      actions={
        dataUpdatedAt > 0 && (
          <span className="number small muted">{t.operator.health.updated(clockOf(dataUpdatedAt))}</span>
        )
      }
    >
      {state ? (
        <State
          state={state}
          title={
            error && dataUpdatedAt
              ? t.operator.health.silentSince(clockOf(dataUpdatedAt))
              : t.operator.health.states[state]
          }
          cause={error ? causeOf(error) : data?.cause}
        />
      ) : (
        <Loading />
      )}
      {data && (
        <>
          <Parts parts={data.parts} />
          {REALMS.map((realm) => (
            <RealmCard key={realm} realm={realm} health={data.realms[realm]} />
          ))}
        </>
      )}
    </Page>
  );

  function causeOf(fault: Error): string {
    const reason = fault instanceof CatalogConnectionError ? '' : `${messageOf(fault, t)} `;
    return reason + t.operator.health.tryingAgain;
  }
}

function State({
  state,
  title,
  cause,
}: {
  readonly state: keyof typeof TONES;
  readonly title: string;
  readonly cause: string | null | undefined;
}) {
  const t = useTexts();
  return (
    <div className={`health-state ${TONES[state]}`} role="status">
      <Icon name={state === 'ok' ? 'check' : 'warning'} size={24} />
      <div>
        <h2>{title}</h2>
        <p>{cause ?? t.operator.health.noCause}</p>
      </div>
    </div>
  );
}

const FINE: ReadonlySet<unknown> = new Set(['ok', 'yes', 'running']);

const toneOf = (state: unknown): Tone => {
  if (FINE.has(state)) return 'good';
  return typeof state === 'string' && state !== 'unknown' ? 'bad' : 'neutral';
};

/** The parts of the service with a word for the state of each. */
function Parts({ parts }: { readonly parts: Readonly<Record<string, unknown>> }) {
  const t = useTexts();
  const names: Readonly<Record<string, string>> = t.operator.health.parts;
  const words: Readonly<Record<string, string>> = t.operator.health.partStates;
  const wordOf = (state: unknown) =>
    typeof state === 'string' ? (words[state] ?? state) : JSON.stringify(state).replace(/["{}]/g, '');
  return (
    <ul className="list parts">
      {Object.entries(parts).map(([part, state]) => (
        <li key={part} className="small">
          <span className={`dot ${toneOf(state)}`} aria-hidden="true" />
          {names[part] ?? part.replaceAll('_', ' ')}
          <span className="muted">{wordOf(state)}</span>
        </li>
      ))}
    </ul>
  );
}

function RealmCard({ realm, health }: { readonly realm: Realm; readonly health: RealmHealth }) {
  const t = useTexts();
  const locale = useLocale();
  const { parts, task, error, head, lag = [], dead_letters = [], paused_since, versions = [] } = health;
  const { mismatch, paused_since: _, ...states } = parts;
  const waiting = dead_letters.reduce((sum, count) => sum + count, 0);
  const active = versions.find(({ status }) => status === 'active');
  const history = historyOf(realm);
  const { lag: lags, appended, projected } = history;
  const now = (values: readonly (number | null)[]) => formatNumber(Math.round(values.at(-1) ?? 0), locale);
  return (
    <Card
      title={t.operator.realms[realm]}
      actions={
        <>
          {paused_since && <Badge tone="warn">{t.operator.paused}</Badge>}
          {waiting > 0 && (
            <Link href="/operator/dead-letters">
              <Badge tone="warn">{t.operator.deadLetters.count(waiting)}</Badge>
            </Link>
          )}
          {task && task.status !== 'none' && (
            <Link href={`/operator/projections/${realm}`}>
              <TaskBadge {...task} />
            </Link>
          )}
          {active && (
            <span className="small muted number">
              {t.operator.health.summary(`v${active.version}`, formatNumber(Number(head), locale))}
            </span>
          )}
        </>
      }
    >
      <Parts parts={states} />
      {mismatch ? <p className="bad-text">{String(mismatch)}</p> : null}
      {error ? (
        <p className="bad-text">{error}</p>
      ) : (
        lag.length > 0 && (
          <div className="plots">
            <Suspense fallback={<Loading lines={3} />}>
              <Plot
                title={t.operator.health.lag}
                text={t.operator.health.lagText(realm, now(lags))}
                at_s={history.at_s}
                series={[{ label: t.operator.health.largest, values: lags }]}
              />
              <Plot
                title={t.operator.health.rate}
                text={t.operator.health.rateText(realm, now(appended), now(projected))}
                at_s={history.at_s}
                series={[
                  { label: t.operator.health.appended, values: appended },
                  { label: t.operator.health.projected, values: projected },
                ]}
              />
            </Suspense>
          </div>
        )
      )}
    </Card>
  );
}
