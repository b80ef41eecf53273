import {
  AccessDeniedError,
  type AppendResult,
  MaxAppendSizeExceededError,
  StreamDeletedError,
  TimeoutError,
  WrongExpectedVersionError,
} from '@eventstore/db-client';
import { MaximumAppendSizeExceeded, WrongExpectedVersion } from '@eventstore/db-client/generated/shared_pb';
import type { Status } from '@eventstore/db-client/generated/status_pb';
import type { BatchAppendResp } from '@eventstore/db-client/generated/streams_pb';
import { SharedCallError } from './failures';

/** What an answer to one of many appends says: resolved with, or thrown, as by the client's append in a call of its own. */
export function outcomeOf(answer: BatchAppendResp, stream: string): AppendResult {
  const success = answer.getSuccess();
  if (!success) throw refusal(answer.getError(), stream);
  const place = success.getPosition();
  return {
    success: true,
    nextExpectedRevision: BigInt(success.getCurrentRevision()),
    ...(place && {
      position: {
        commit: BigInt(place.getCommitPosition()),
        prepare: BigInt(place.getPreparePosition()),
      },
    }),
  };
}

function refusal(status: Status | undefined, stream: string): Error {
  const details = status?.getDetails();
  const type = details?.getTypeName() ?? '';
  switch (type) {
    case 'event_store.client.WrongExpectedVersion': {
      const versions = details?.unpack(WrongExpectedVersion.deserializeBinary, type);
      return WrongExpectedVersionError.fromWrongExpectedVersion(
        versions ?? new WrongExpectedVersion(),
        stream,
      );
    }
    case 'event_store.client.MaximumAppendSizeExceeded': {
      const max_bytes = details
        ?.unpack(MaximumAppendSizeExceeded.deserializeBinary, type)
        ?.getMaxappendsize();
      const error = MaxAppendSizeExceededError.fromMaxAppendSize(max_bytes ?? 0);
      return Object.assign(error, { message: `an append above the server's ${max_bytes} bytes` });
    }
    case 'event_store.client.StreamDeleted':
      return Object.assign(StreamDeletedError.fromStreamName(stream), { message: `${stream} is deleted` });
    case 'event_store.client.AccessDenied':
      return new AccessDeniedError(undefined, `access to ${stream} is denied`);
    case 'event_store.client.Timeout':
      return new TimeoutError(undefined, `an append to ${stream} timed out on the server`);
    // Not ready, too busy, no valid request: in a call of its own the server says more clearly which.
    default:
      return new SharedCallError(`an append was refused: ${status?.getMessage() ?? 'for no reason given'}`);
  }
}
