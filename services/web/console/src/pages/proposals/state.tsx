import type { Proposal } from 'catalog-client';
import { useTexts } from '../../texts/texts';
import { Badge } from '../../ui/feedback';

const TONES = { waiting: 'warn', confirmed: 'good', rejected: 'neutral', expired: 'neutral' } as const;

/** What became of a proposal. Lists do not say whether the write of a confirmed one was refused. */
export function ProposalState({ of: { status, result } }: { readonly of: Proposal }) {
  const t = useTexts();
  if (result?.error) return <Badge tone="bad">{t.proposals.refused}</Badge>;
  return <Badge tone={TONES[status]}>{t.proposals.states[status]}</Badge>;
}
