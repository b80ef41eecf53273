import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useSearchParams } from 'wouter';
import { formatNumber } from '../../lib/format';
import { useLocale, useTexts } from '../../texts/texts';
import { Button } from '../../ui/button';
import { Badge, Banner, ErrorState, Loading } from '../../ui/feedback';
import { Card, Page } from '../../ui/layout';
import { type DeadLetter, operator, type StreamPart } from './api';
import { Copyable, Moment, streamHref } from './parts';
import { type Action, DEAD_LETTERS, Release, ReleaseButtons } from './release';

/** The events of a stream with their data, from the revision in the address on, and its dead letter. */
export default function StreamPage({ name }: { readonly name: string }) {
  const t = useTexts();
  const [search] = useSearchParams();
  const [asked, setAsked] = useState<Action>();
  const from = Number(search.get('from') ?? 0);
  const { data, error, refetch, fetchNextPage, hasNextPage, isFetching } = useInfiniteQuery({
    queryKey: ['stream', name, from],
    queryFn: ({ pageParam }) => operator.stream(name, pageParam),
    initialPageParam: from,
    getNextPageParam: ({ meta }) => meta.next,
  });
  const events = data?.pages.flatMap((page) => page.data.events) ?? [];
  const dead_letter = data?.pages[0]?.data.dead_letter ?? null;
  const { data: letters } = useQuery({ ...DEAD_LETTERS, enabled: dead_letter !== null });
  return (
    <Page
      title={t.operator.events.stream}
      back={['/operator/events', t.operator.events.title]}
      state={<Copyable text={name} />}
    >
      {dead_letter && (
        <Banner
          tone="bad"
          title={t.operator.events.deadLetter(dead_letter.revision)}
          actions={letters && <ReleaseButtons onAsk={setAsked} />}
        >
          <p>{dead_letter.reason}</p>
          {!events.some(({ revision }) => revision === dead_letter.revision) && (
            <Link href={streamHref(name, dead_letter.revision)}>{t.operator.events.showIt}</Link>
          )}
        </Banner>
      )}
      {from > 0 && <Link href={streamHref(name)}>{t.operator.events.fromFirst}</Link>}
      {events.map((event) => (
        <EventCard key={event.id} event={event} dead_letter={dead_letter} />
      ))}
      {hasNextPage && (
        <Button isPending={isFetching} onPress={() => void fetchNextPage()}>
          {t.operator.events.later}
        </Button>
      )}
      {error && <ErrorState error={error} onRetry={refetch} />}
      {!data && !error && <Loading />}
      {asked && letters && (
        <Release
          action={asked}
          waiting={{ stream: name }}
          list={letters.data}
          onClose={() => setAsked(undefined)}
        />
      )}
    </Page>
  );
}

interface EventCardProps {
  readonly event: StreamPart['events'][number];
  readonly dead_letter: DeadLetter | null;
}

function EventCard({ event, dead_letter }: EventCardProps) {
  const t = useTexts();
  const locale = useLocale();
  const { revision, type, occurred_at, source, api_key_id, position, error, data } = event;
  const by = api_key_id ? t.operator.events.withKey(source, api_key_id) : source;
  return (
    <Card
      title={`${revision} · ${type}`}
      actions={
        revision === dead_letter?.revision && <Badge tone="bad">{t.operator.events.isDeadLetter}</Badge>
      }
      hint={
        <>
          <Moment at={occurred_at} /> · {t.operator.events.position(formatNumber(Number(position), locale))} ·{' '}
          {by}
        </>
      }
    >
      {error && <p className="bad-text">{t.operator.events.unreadable(error)}</p>}
      <pre className="json" dir="ltr">
        {JSON.stringify(data, null, 2)}
      </pre>
    </Card>
  );
}
