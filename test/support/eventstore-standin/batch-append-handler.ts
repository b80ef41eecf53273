import type { BatchAppendReq, BatchAppendResp } from '@eventstore/db-client/generated/streams_pb';
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { isTooLarge } from './append-handler';
import { accepted, refused } from './batch-answers';
import type { CallGate } from './call-gate';
import type { Database } from './database';
import { empty, streamNameOf, toProposal } from './messages';
import type { Expected, Proposal, WriteOutcome } from './records';
import { invalidArgument, unauthenticated, unimplemented } from './rpc-errors';

type Call = ServerDuplexStream<BatchAppendReq, BatchAppendResp>;

/** Streams.BatchAppend: many appends over one call. Each has a correlation id and is answered when it is stored. */
export function batchAppendHandler(database: Database, gate: CallGate) {
  return (call: Call): void => {
    call.on('error', () => {});
    gate.append_calls.shared++;
    if (gate.faults.current.no_batch_appends) call.emit('error', unimplemented('BatchAppend'));
    else new BatchAppendCall(database, gate, call).serve();
  };
}

/** An append whose last message has not arrived yet. */
interface Batch {
  readonly stream: string;
  readonly expected: Expected;
  readonly proposals: Proposal[];
}

class BatchAppendCall {
  private readonly database: Database;
  private readonly gate: CallGate;
  private readonly call: Call;
  private readonly open = new Map<string, Batch>();
  private unanswered = 0;
  private half_closed = false;
  /** Whether the call no longer reads or answers. */
  private over = false;

  constructor(database: Database, gate: CallGate, call: Call) {
    this.database = database;
    this.gate = gate;
    this.call = call;
  }

  serve(): void {
    this.gate.append_calls.shared_open++;
    this.call.once('close', () => this.gate.append_calls.shared_open--);
    this.call.on('data', (request: BatchAppendReq) => {
      // A call that was open during a silence never recovers.
      this.over ||= this.gate.faults.current.silent;
      if (!this.over) this.receive(request);
    });
    this.call.on('end', () => {
      this.half_closed = true;
      this.endWhenAnswered();
    });
  }

  /** An invalid append is refused alone; the call continues. */
  private receive(request: BatchAppendReq): void {
    try {
      const batch = this.addToBatch(request);
      if (batch) this.perform(request, batch);
    } catch (error) {
      this.answer(request, refused((error as Error).message));
    }
  }

  /** Returns the complete append once its last message has arrived. */
  private addToBatch(request: BatchAppendReq): Batch | undefined {
    const id = correlationOf(request);
    const options = request.getOptions();
    if (options) {
      const deadline = options.getDeadline()?.toDate();
      if (deadline && deadline.getTime() <= Date.now()) return this.answer(request, refused('Timeout'));
      const stream = streamNameOf(options.getStreamIdentifier());
      if (!this.open.has(id)) this.open.set(id, { stream, expected: expectedOf(options), proposals: [] });
    }
    const batch = this.open.get(id);
    if (!batch) return undefined;
    batch.proposals.push(...request.getProposedMessagesList().map(toProposal));
    const { append_bytes_max } = this.gate.faults.current;
    if (isTooLarge(batch.proposals, append_bytes_max)) {
      this.open.delete(id);
      return this.answer(request, refused('MaximumAppendSizeExceeded'));
    }
    if (!request.getIsFinal()) return undefined;
    this.open.delete(id);
    if (batch.proposals.length === 0) throw invalidArgument('an append without events');
    return batch;
  }

  private perform(request: BatchAppendReq, batch: Batch): void {
    const { faults } = this.gate;
    const isPoison = batch.proposals.some(({ type }) => type === faults.current.poison_type);
    if (faults.take('cut_appends')) this.gate.cut(this.call);
    else if (faults.take('ended_batch_calls')) this.end();
    else if (isPoison) this.end(invalidArgument('an append that the call cannot survive'));
    else if (faults.current.wrong_password) this.end(unauthenticated());
    else if (this.gate.refusesAsFollower() || faults.take('not_leader')) this.end(this.gate.notLeader());
    else if (faults.take('not_ready')) this.answer(request, refused('Server Is Not Ready'));
    else if (faults.take('denied_appends')) this.answer(request, refused('AccessDenied'));
    else if (!faults.current.hung_appends)
      this.store(request, batch).catch((error: Error) => this.end(error));
  }

  private async store(request: BatchAppendReq, { stream, expected, proposals }: Batch): Promise<void> {
    const { faults } = this.gate;
    this.unanswered++;
    const outcome = await this.database.append(stream, expected, proposals);
    if (outcome.result === 'dropped') return;
    if (faults.take('lost_acks')) return this.gate.cut(this.call);
    const response = faults.take('timed_out_appends') ? refused('Timeout') : toResponse(stream, outcome);
    if (faults.take('unplaced_answers')) response.getSuccess()?.setNoPosition(empty());
    await faults.batchAnswersAllowed();
    this.over ||= faults.current.silent;
    this.unanswered--;
    this.answer(request, response);
    this.endWhenAnswered();
  }

  private answer(request: BatchAppendReq, response: BatchAppendResp): undefined {
    const correlation = request.getCorrelationId();
    if (correlation) response.setCorrelationId(correlation);
    if (!this.over && !this.call.cancelled) this.call.write(response);
  }

  private endWhenAnswered(): void {
    if (this.half_closed && this.unanswered === 0 && !this.over) this.end();
  }

  private end(error?: Error): void {
    this.over = true;
    if (error) this.call.emit('error', error);
    else this.call.end();
  }
}

function correlationOf(request: BatchAppendReq): string {
  const id = request.getCorrelationId()?.getString() ?? '';
  if (id === '') throw invalidArgument('a correlation id is required');
  return id;
}

function toResponse(stream: string, outcome: WriteOutcome): BatchAppendResp {
  return outcome.result === 'written' ? accepted(stream, outcome) : refused(outcome.result);
}

function expectedOf(options: BatchAppendReq.Options): Expected {
  if (options.hasStreamPosition()) return { kind: 'revision', revision: BigInt(options.getStreamPosition()) };
  if (options.hasNoStream()) return { kind: 'no_stream' };
  if (options.hasStreamExists()) return { kind: 'stream_exists' };
  if (options.hasAny()) return { kind: 'any' };
  throw invalidArgument('no expected stream position');
}
