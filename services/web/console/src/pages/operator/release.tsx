import { useQueryClient } from '@tanstack/react-query';
import { CatalogApiError } from 'catalog-client';
import { useState } from 'react';
import { messageOf } from '../../lib/errors';
import { useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { Banner, say, sayFailed } from '../../ui/feedback';
import { Dialog } from '../../ui/overlay';
import { type DeadLetters, operator, type WaitingStream } from './api';

export type Action = 'retry' | 'skip';
/** What is released: one stream, or all streams of a group. */
export type Waiting = { readonly stream: string } | { readonly group: string };

/** How many streams the dialog names. */
const NAMED_MAX = 20;

export const DEAD_LETTERS = { queryKey: ['dead-letters'], queryFn: operator.deadLetters } as const;

interface Plan {
  readonly plan: string;
  readonly count: number;
  readonly streams: readonly WaitingStream[];
}

/** Returns what a release would act on, undefined if it is not on the list. */
function planOf({ groups, streams }: DeadLetters, waiting: Waiting): Plan | undefined {
  if ('stream' in waiting) {
    const found = streams.filter(({ stream }) => stream === waiting.stream);
    return found[0] && { plan: found[0].plan, count: found.length, streams: found };
  }
  const group = groups.find((each) => each.group === waiting.group);
  return group && { ...group, streams: streams.filter((each) => each.group === waiting.group) };
}

interface ReleaseProps {
  readonly action: Action;
  readonly waiting: Waiting;
  /** The list that the operator sees. */
  readonly list: DeadLetters;
  readonly onClose: () => void;
}

/** Asks before a retry or a skip, and does it. If other events wait by then, shows the new list and asks again. */
export function Release({ action, waiting, list, onClose }: ReleaseProps) {
  const t = useTexts();
  const queries = useQueryClient();
  const [plan, setPlan] = useState(() => planOf(list, waiting));
  const [is_changed, setChanged] = useState(false);
  const [is_pending, setPending] = useState(false);

  const release = async () => {
    setPending(true);
    try {
      const { versions } = await operator.release({ action, plan: plan?.plan ?? '', ...waiting });
      const failed = versions.filter(({ dead_letter }) => dead_letter !== null).length;
      if (failed > 0) sayFailed(t.operator.deadLetters.failedAgain(failed, versions.length));
      else say(t.operator.deadLetters.released(versions.length));
      onClose();
    } catch (error) {
      const status = error instanceof CatalogApiError ? error.status : undefined;
      if (status === 409) {
        const now = await queries.fetchQuery({ ...DEAD_LETTERS, staleTime: 0 }).catch(() => undefined);
        setPlan((now && planOf(now.data, waiting)) ?? plan);
        setChanged(true);
      } else {
        sayFailed(status === 404 ? t.operator.deadLetters.gone : messageOf(error, t));
        onClose();
      }
    }
    setPending(false);
    await queries.invalidateQueries();
  };

  const { count = 0, streams = [] } = plan ?? {};
  return (
    <Dialog
      title={t.operator.deadLetters.asks[action](count)}
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button onPress={onClose}>{t.common.cancel}</Button>
          <Button
            kind={action === 'retry' ? 'primary' : 'danger'}
            isPending={is_pending}
            onPress={() => void release()}
          >
            {t.operator.deadLetters.actions[action]}
          </Button>
        </>
      }
    >
      {is_changed && <Banner tone="warn" title={t.operator.deadLetters.changed} />}
      <p>{t.operator.deadLetters.effects[action]}</p>
      <ul className="list stack tight">
        {streams.slice(0, NAMED_MAX).map(({ stream, revision, version, reason }) => (
          <li key={`${stream} ${version}`}>
            <code>{stream}</code>
            <p className="small muted">
              v{version} · {t.operator.deadLetters.eventOf(revision)}: {reason}
            </p>
          </li>
        ))}
        {count > NAMED_MAX && (
          <li className="small muted">{t.operator.deadLetters.andMore(count - NAMED_MAX)}</li>
        )}
      </ul>
    </Dialog>
  );
}

interface ReleaseButtonsProps {
  /** Whether they are about a whole group. */
  readonly isGroup?: boolean;
  readonly onAsk: (action: Action) => void;
}

/** The buttons that ask before a retry or a skip. */
export function ReleaseButtons({ isGroup = false, onAsk }: ReleaseButtonsProps) {
  const t = useTexts();
  const labels = isGroup ? t.operator.deadLetters.groupActions : t.operator.deadLetters.actions;
  return (['retry', 'skip'] as const).map((action) => (
    <Button key={action} onPress={() => onAsk(action)}>
      {labels[action]}
    </Button>
  ));
}
