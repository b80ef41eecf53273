import { stateOf } from '../../shared/catalog/events/aggregate';
import type { ProposalDocument } from '../../shared/catalog/proposal/document';
import {
  expiryOf,
  type ProposalEvent,
  proposalAggregate,
  proposalItem,
} from '../../shared/catalog/proposal/proposal';
import type { ProposalId } from '../../shared/kernel/ids';
import type { EventContext, View } from './view';

/** Documents of proposals. */
export const proposalView: View<ProposalDocument, ProposalEvent> = {
  collection: 'proposals',
  category: 'proposal',
  fold: (before, event, { id, occurred_at }: EventContext<ProposalId>) => {
    const after = proposalAggregate.evolve(stateOf(before?.state.proposal), event, id, occurred_at);
    if (after.tag !== 'present') return before;
    const proposal = after.resource;
    const { store_id, api_key_id, status } = proposal;
    return {
      keys: { store_id, api_key_id, status, expires_ms: Date.parse(expiryOf(proposal)) },
      body: proposalItem(proposal),
      state: { proposal },
      expansions: {},
    };
  },
};
