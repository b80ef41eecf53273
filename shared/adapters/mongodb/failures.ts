import {
  MongoError,
  MongoNetworkTimeoutError,
  MongoServerError,
  MongoServerSelectionError,
  type ServerDescription,
  type TopologyDescription,
} from 'mongodb';
import { CAUSES, networkCause } from '../outage-cause';

/** The server did not answer within the deadline of a call. */
export class SilentServerError extends Error {
  override readonly name = 'SilentServerError';
}

/** Connecting failed with an error that is not of the driver. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError';

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** Why the server cannot be used. */
export interface OutageCause {
  /** In plain words; undefined if the error does not say it. */
  readonly cause?: string | undefined;
  /** Whether the server answers, but too late. */
  readonly is_slow?: boolean;
}

const NO_PRIMARY = 'the replica set has no primary that can be reached';
const NO_RIGHT: OutageCause = { cause: 'the user has no right to use the database' };
const SLOW: OutageCause = { cause: 'the server takes too long', is_slow: true };
const NO_MAJORITY = 'too few members of the replica set acknowledge writes';

/** By code of the server. */
const CODES: Readonly<Record<number, OutageCause>> = {
  13: NO_RIGHT,
  18: { cause: CAUSES.wrong_password },
  50: SLOW,
  64: { cause: NO_MAJORITY },
  91: { cause: 'the server is stopping' },
  100: { cause: NO_MAJORITY },
  189: { cause: NO_PRIMARY },
  8000: { cause: CAUSES.wrong_password },
  10107: { cause: NO_PRIMARY },
  11600: { cause: 'the server is stopping' },
  11602: { cause: NO_PRIMARY },
  13435: { cause: NO_PRIMARY },
  13436: { cause: NO_PRIMARY },
};

/** Returns why a call failed for which the server, its address or the network is responsible. */
export function outageCauseOf(error: unknown): OutageCause {
  if (error instanceof SilentServerError) return { cause: CAUSES.silent };
  if (error instanceof ConnectError) return { cause: causeOfFile(error.cause) ?? networkCause(error) };
  if (error instanceof MongoServerSelectionError) return selectionCause(error.reason);
  if (error instanceof MongoNetworkTimeoutError) return { cause: CAUSES.silent };
  const code = error instanceof MongoError ? Number(error.code) : Number.NaN;
  const known = CODES[code];
  if (known) return known;
  if (error instanceof MongoServerError)
    return { cause: Number.isNaN(code) ? 'the server reports an error' : `the server reports error ${code}` };
  return { cause: networkCause(error) };
}

/** Returns the cause if a file that the address names cannot be read. */
function causeOfFile(error: unknown): string | undefined {
  const { code, path } = error as NodeJS.ErrnoException;
  if (path === undefined) return undefined;
  return `the file ${path} of the address ${code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`}`;
}

/** The driver has found no server for a call. Its description of each server says why. */
function selectionCause(topology: TopologyDescription | undefined): OutageCause {
  const servers: ServerDescription[] = [...(topology?.servers.values() ?? [])];
  const failure = servers.find(({ error }) => error)?.error;
  // If a member answers but is no primary, that says more than the silence of another member.
  if (servers.some(({ type }) => type !== 'Unknown')) return { cause: NO_PRIMARY };
  if (failure instanceof MongoServerError) return outageCauseOf(failure);
  return { cause: failure ? networkCause(failure) : CAUSES.silent };
}
