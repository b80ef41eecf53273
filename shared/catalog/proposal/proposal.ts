import { z } from 'zod';
import { accept, type Decision, reject } from '../../kernel/decision';
import { assertNever } from '../../kernel/errors';
import type { ApiKeyId, ProposalId, StoreId } from '../../kernel/ids';
import { type Aggregate, present, type State } from '../events/aggregate';
import type { JsonObject } from '../events/envelope';
import { defineEvent, type EventOf } from '../events/event-definition';
import { withoutNulls } from '../fields';
import type { ProposalStatus } from '../vocabulary';

/** How long a proposal can be confirmed. */
const DECIDABLE_MS = 7 * 24 * 3_600_000;

/** The answer to the write, or its error. `data` is absent if it is too long to be stored. */
const resultSchema = z.object({
  status: z.int(),
  data: z.unknown().optional(),
  error: z.record(z.string(), z.unknown()).exactOptional(),
});
export type ProposalResult = z.infer<typeof resultSchema>;

const proposedWrite = {
  /** Its `operationId`. */
  operation: z.string(),
  method: z.string(),
  /** With the query, as it was sent. */
  path: z.string(),
  params: z.record(z.string(), z.string()),
  query: z.record(z.string(), z.array(z.string())),
  body: z.record(z.string(), z.unknown()),
  if_match: z.string().nullable(),
  run: z.string().nullable(),
  /** For people. */
  summary: z.string(),
};

export const proposalEvents = [
  /** `api_key_id`: the key that needs confirmation, in whose name the write is carried out. */
  defineEvent('ProposalMade', z.object({ store_id: z.string(), api_key_id: z.string(), ...proposedWrite })),
  /** `decided_by`: the key of the person. The write is carried out after this event. */
  defineEvent('ProposalConfirmed', z.object({ decided_by: z.string() })),
  /** The write was refused before it changed anything, for a reason that may pass. The proposal waits again. */
  defineEvent('ProposalReopened', z.object({})),
  defineEvent('ProposalRejected', z.object({ decided_by: z.string(), reason: z.string().nullable() })),
  defineEvent('ProposalCarriedOut', z.object({ result: resultSchema })),
] as const;

export type ProposalEvent = EventOf<typeof proposalEvents>;
export type ProposalFields = Extract<ProposalEvent, { type: 'ProposalMade' }>['data'];

/** A write that waits for the confirmation of a person: the state that its events fold to. */
export interface Proposal extends ProposalFields {
  readonly id: ProposalId;
  readonly store_id: StoreId;
  readonly api_key_id: ApiKeyId;
  readonly status: Exclude<ProposalStatus, 'expired'>;
  readonly decided_by: string | null;
  readonly decided_at: string | null;
  readonly reason: string | null;
  /** Null until the write is carried out. */
  readonly result: ProposalResult | null;
  /** Number of events so far. */
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
}

function evolve(
  state: State<Proposal>,
  event: ProposalEvent,
  id: ProposalId,
  occurred_at: string,
): State<Proposal> {
  if (event.type === 'ProposalMade')
    return present({
      ...event.data,
      id,
      store_id: event.data.store_id as StoreId,
      api_key_id: event.data.api_key_id as ApiKeyId,
      status: 'waiting',
      decided_by: null,
      decided_at: null,
      reason: null,
      result: null,
      version: 1,
      created_at: occurred_at,
      updated_at: occurred_at,
    });
  if (state.tag !== 'present') return state;
  const before = state.resource;
  const changed = (values: Partial<Proposal>) =>
    present({ ...before, ...values, version: before.version + 1, updated_at: occurred_at });
  switch (event.type) {
    case 'ProposalConfirmed':
      return changed({ status: 'confirmed', decided_at: occurred_at, ...event.data });
    case 'ProposalReopened':
      return changed({ status: 'waiting', decided_by: null, decided_at: null });
    case 'ProposalRejected':
      return changed({ status: 'rejected', decided_at: occurred_at, ...event.data });
    case 'ProposalCarriedOut':
      return changed({ result: event.data.result });
    default:
      return assertNever(event, 'proposal event');
  }
}

export type ProposalCommand =
  | { readonly type: 'Make'; readonly proposal: ProposalFields }
  /** Changes nothing if the proposal is confirmed already. */
  | { readonly type: 'Confirm'; readonly decided_by: string; readonly now_ms: number }
  /** Ignored unless the proposal is confirmed and has no result. */
  | { readonly type: 'Reopen' }
  /** Changes nothing if the proposal is rejected already. */
  | {
      readonly type: 'Reject';
      readonly decided_by: string;
      readonly reason: string | null;
      readonly now_ms: number;
    }
  /** Ignored if the proposal has a result. */
  | { readonly type: 'RecordResult'; readonly result: ProposalResult };

function decide(state: State<Proposal>, command: ProposalCommand): Decision<ProposalEvent> {
  if (command.type === 'Make')
    return state.tag === 'absent'
      ? accept({ type: 'ProposalMade', data: command.proposal })
      : reject('lost_race');
  if (state.tag !== 'present') return reject('proposal_not_found');
  const before = state.resource;
  switch (command.type) {
    case 'Confirm': {
      const { decided_by, now_ms } = command;
      if (before.status === 'confirmed') {
        const is_over = !before.result && Date.parse(expiryOf(before)) <= now_ms;
        return is_over
          ? reject('proposal_refused', 'The proposal is expired; its write has no result')
          : accept();
      }
      return refusalOf(before, now_ms) ?? accept({ type: 'ProposalConfirmed', data: { decided_by } });
    }
    case 'Reopen':
      if (before.status !== 'confirmed' || before.result) return accept();
      return accept({ type: 'ProposalReopened', data: {} });
    case 'Reject': {
      const { decided_by, reason, now_ms } = command;
      if (before.status === 'rejected') return accept();
      return refusalOf(before, now_ms) ?? accept({ type: 'ProposalRejected', data: { decided_by, reason } });
    }
    case 'RecordResult':
      if (before.status !== 'confirmed' || before.result) return accept();
      return accept({ type: 'ProposalCarriedOut', data: { result: command.result } });
    default:
      return assertNever(command, 'proposal command');
  }
}

/** Returns why the proposal cannot be decided any more, undefined if it waits. */
function refusalOf(proposal: Proposal, now_ms: number) {
  const status = proposalStatus(proposal.status, expiryOf(proposal), now_ms);
  return status === 'waiting' ? undefined : reject('proposal_refused', `The proposal is ${status} already`);
}

/** Returns the status at a time. A proposal expires without an event. */
export const proposalStatus = (
  status: Proposal['status'],
  expires_at: string,
  now_ms: number,
): ProposalStatus => (status === 'waiting' && Date.parse(expires_at) <= now_ms ? 'expired' : status);

export const expiryOf = ({ created_at }: Pick<Proposal, 'created_at'>): string =>
  new Date(Date.parse(created_at) + DECIDABLE_MS).toISOString();

export const proposalAggregate: Aggregate<Proposal, ProposalEvent, ProposalId, ProposalCommand> = {
  category: 'proposal',
  events: proposalEvents,
  state_version: 1,
  not_found: 'proposal_not_found',
  evolve,
  decide,
  owner: ({ store_id }) => ({ store_id }),
};

/** Returns the resource as lists show it: without the body of the write and without its result. */
export function proposalItem(proposal: Proposal): JsonObject {
  const { id, status, run, api_key_id, summary, operation, method, path, created_at } = proposal;
  const { decided_by, decided_at, reason } = proposal;
  return withoutNulls({
    ...{ id, object: 'proposal', status, run, key: api_key_id, summary, operation, method, path },
    ...{ created_at, expires_at: expiryOf(proposal), decided_by, decided_at, reason },
  });
}

/** Returns the whole resource. */
export function proposalResource(proposal: Proposal, now_ms: number): JsonObject {
  const { body, result } = proposal;
  const status = proposalStatus(proposal.status, expiryOf(proposal), now_ms);
  const shown = { ...proposalItem(proposal), status, body, ...(result && { result }) };
  return shown as JsonObject;
}
