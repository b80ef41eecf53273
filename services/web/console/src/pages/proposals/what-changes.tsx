import { useQuery } from '@tanstack/react-query';
import type { CatalogClient, Change, Proposal } from 'catalog-client';
import { useApi } from '../../lib/api';
import { ChangeWords } from '../../lib/change-words';
import { useTexts } from '../../texts/texts';
import { Loading } from '../../ui/feedback';
import { Card } from '../../ui/layout';
import { ChangeList, Subject } from '../history/change-list';
import { useNames } from '../history/names';
import { UndoReport } from '../history/undo-report';
import { readProposedChanges } from './proposed-changes';

interface WhatChangesProps {
  readonly proposal: Proposal;
  /** Of the key that has proposed it. */
  readonly name: string | undefined;
}

/** What a proposal would change, or has changed, in the words of the history; and the request itself. */
export function WhatChanges({ proposal, name }: WhatChangesProps) {
  const t = useTexts();
  const { method, path, body, status, result } = proposal;
  const is_done = status === 'confirmed' && result !== undefined;
  return (
    <>
      {!result?.error && (
        <Card
          title={is_done ? t.proposals.hasChanged : t.proposals.wouldChange}
          hint={!is_done && t.proposals.wouldChangeHint}
        >
          {is_done ? (
            <Done proposal={proposal} />
          ) : proposal.operation === 'undoRun' ? (
            <Undone path={path} />
          ) : (
            <Proposed proposal={proposal} name={name} />
          )}
        </Card>
      )}
      <details>
        <summary>{t.proposals.request}</summary>
        <pre className="json" dir="ltr">
          {`${method} ${path}\n${JSON.stringify(body, null, 2)}`}
        </pre>
      </details>
    </>
  );
}

function Proposed({ proposal, name }: WhatChangesProps) {
  const t = useTexts();
  const { client } = useApi();
  const { data, isPending } = useQuery({
    // Live changes of products are read again.
    queryKey: ['publications', 'proposed', proposal.id, name],
    queryFn: async () => (await readProposedChanges(client, proposal, name)) ?? null,
  });
  if (isPending) return <Loading lines={3} />;
  if (!data) return <p className="muted">{t.proposals.noWords}</p>;
  if (data.length === 0) return <p className="muted">{t.proposals.nothing}</p>;
  return <Sentences changes={data} />;
}

function Sentences({ changes }: { readonly changes: readonly Change[] }) {
  const { currencyOf, nameOf } = useNames(changes);
  return (
    <ul className="list proposed">
      {changes.map((change) => (
        <li key={`${change.id} ${change.type}`}>
          <ChangeWords
            change={change}
            currency={currencyOf(change)}
            nameOf={nameOf}
            subject={<Subject change={change} />}
          />
        </li>
      ))}
    </ul>
  );
}

/** What an undo of a run would do. */
function Undone({ path }: { readonly path: string }) {
  const { client } = useApi();
  const t = useTexts();
  const run = decodeURIComponent(path.split('/')[3] ?? '');
  const { data, isPending } = useQuery({
    queryKey: ['publications', 'undo', run],
    queryFn: () => client.runs.undo(run, { dry_run: true }),
  });
  if (isPending) return <Loading lines={3} />;
  return data ? <UndoReport report={data} /> : <p className="muted">{t.proposals.noWords}</p>;
}

/** The changes of a write are sought in this many changes of its key since the decision, of which the last are the oldest. */
const CHANGES_MAX = 2_000;

function Done({ proposal }: { readonly proposal: Proposal }) {
  const t = useTexts();
  const { client } = useApi();
  const { data, isPending } = useQuery({
    queryKey: ['changes', 'of-proposal', proposal.id],
    queryFn: () => changesOfProposal(client, proposal),
  });
  if (isPending) return <Loading lines={3} />;
  if (!data || data.length === 0) return <p className="muted">{t.proposals.changesNotFound}</p>;
  return <ChangeList changes={data} ofRun={proposal.run} />;
}

async function changesOfProposal(
  client: CatalogClient,
  { id, key, run, decided_at }: Proposal,
): Promise<Change[]> {
  const changes: Change[] = [];
  let seen = 0;
  for await (const change of client.store.fullHistory({ actor: key, run, since: decided_at })) {
    if (change.request_id === `proposal-${id}`) changes.push(change);
    if (++seen >= CHANGES_MAX) break;
  }
  return changes;
}
