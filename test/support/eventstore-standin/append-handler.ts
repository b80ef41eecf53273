import { type AppendReq, AppendResp } from '@eventstore/db-client/generated/streams_pb';
import type { ServerReadableStream, sendUnaryData } from '@grpc/grpc-js';
import type { CallGate } from './call-gate';
import type { Database } from './database';
import { empty, streamNameOf, toProposal } from './messages';
import type { Expected, Proposal, WriteOutcome } from './records';
import { accessDenied, invalidArgument, streamDeleted, timedOut, tooLarge } from './rpc-errors';

/** Counts as the server does: a character of a type takes two bytes. */
export function isTooLarge(proposals: readonly Proposal[], append_bytes_max: number): boolean {
  const bytes = proposals.reduce(
    (sum, { type, data, metadata }) => sum + data.length + metadata.length + 2 * type.length,
    0,
  );
  return bytes > append_bytes_max;
}

type AppendCall = ServerReadableStream<AppendReq, AppendResp>;

/** Streams.Append: receives a header and one message per event, and sends one response. */
export function appendHandler(database: Database, gate: CallGate) {
  return (call: AppendCall, answer: sendUnaryData<AppendResp>): void => {
    gate.append_calls.alone++;
    gate.enter(answer, () => {
      receive(call, gate)
        .then((request) => request && perform(database, gate, call, request, answer))
        .catch((error: Error) => answer(error));
    });
  };
}

interface AppendRequest {
  readonly stream: string;
  readonly expected: Expected;
  readonly proposals: readonly Proposal[];
}

/** Returns undefined if the call was cancelled. Nothing is stored then. */
async function receive(call: AppendCall, gate: CallGate): Promise<AppendRequest | undefined> {
  let header: AppendReq.Options | undefined;
  const proposals: Proposal[] = [];
  for await (const message of call as AsyncIterable<AppendReq>) {
    if (message.hasOptions()) header = message.getOptions();
    const proposed = message.getProposedMessage();
    if (!proposed) continue;
    proposals.push(toProposal(proposed));
    const { append_bytes_max } = gate.faults.current;
    if (isTooLarge(proposals, append_bytes_max)) throw tooLarge(append_bytes_max);
    if (gate.faults.take('cut_appends')) gate.cut(call);
  }
  if (call.cancelled) return undefined;
  if (!header) throw invalidArgument('options first');
  return { stream: streamNameOf(header.getStreamIdentifier()), expected: expectedOf(header), proposals };
}

async function perform(
  database: Database,
  gate: CallGate,
  call: AppendCall,
  { stream, expected, proposals }: AppendRequest,
  answer: sendUnaryData<AppendResp>,
): Promise<void> {
  if (proposals.length === 0) throw invalidArgument('an append without events');
  if (proposals.some(({ type }) => type === gate.faults.current.poison_type))
    throw invalidArgument('an append that the call cannot survive');
  if (gate.faults.take('denied_appends')) throw accessDenied();
  if (gate.faults.current.hung_appends) return;
  const outcome = await database.append(stream, expected, proposals);
  if (outcome.result === 'dropped' || gate.faults.current.silent) return;
  if (gate.faults.take('lost_acks')) return gate.cut(call);
  if (gate.faults.take('timed_out_appends')) throw timedOut('Commit phase timeout.');
  const response = toResponse(stream, expected, outcome);
  if (gate.faults.take('unplaced_answers')) response.getSuccess()?.setNoPosition(empty());
  answer(null, response);
}

function toResponse(stream: string, expected: Expected, outcome: WriteOutcome): AppendResp {
  if (outcome.result === 'deleted') throw streamDeleted(stream);
  if (outcome.result === 'wrong_revision')
    return new AppendResp().setWrongExpectedVersion(refusal(expected, outcome.current));
  if (outcome.result !== 'written') throw new Error(`no answer to an append that is ${outcome.result}`);
  const position = new AppendResp.Position();
  position.setCommitPosition(outcome.position.toString());
  position.setPreparePosition(outcome.position.toString());
  const success = new AppendResp.Success();
  success.setCurrentRevision(outcome.revision.toString());
  success.setPosition(position);
  return new AppendResp().setSuccess(success);
}

function refusal(expected: Expected, current: bigint | undefined): AppendResp.WrongExpectedVersion {
  const wrong = new AppendResp.WrongExpectedVersion();
  if (current === undefined) wrong.setCurrentNoStream(empty());
  else wrong.setCurrentRevision(current.toString());
  if (expected.kind === 'revision') wrong.setExpectedRevision(expected.revision.toString());
  else if (expected.kind === 'no_stream') wrong.setExpectedNoStream(empty());
  else if (expected.kind === 'stream_exists') wrong.setExpectedStreamExists(empty());
  else wrong.setExpectedAny(empty());
  return wrong;
}

/** Returns the expected revision, which has four forms. The server refuses a call without one. */
export function expectedOf(options: {
  hasRevision(): boolean;
  getRevision(): string;
  hasNoStream(): boolean;
  hasAny(): boolean;
  hasStreamExists(): boolean;
}): Expected {
  if (options.hasRevision()) return { kind: 'revision', revision: BigInt(options.getRevision()) };
  if (options.hasNoStream()) return { kind: 'no_stream' };
  if (options.hasStreamExists()) return { kind: 'stream_exists' };
  if (options.hasAny()) return { kind: 'any' };
  throw invalidArgument('no expected revision');
}
