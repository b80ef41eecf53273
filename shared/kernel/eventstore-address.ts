import { z } from 'zod';
import { splitUrl, urlPattern } from './server-url';

export const EVENTSTORE_SCHEMES = ['esdb', 'esdb+discover', 'kurrentdb', 'kurrentdb+discover'] as const;
const PATTERN = urlPattern(EVENTSTORE_SCHEMES);
const DEFAULT_PORT = 2113;
/** The client prints a warning for a shorter interval, each time it connects. */
const KEEP_ALIVE_INTERVAL_MS_MIN = 10_000;

const flag = z.enum(['true', 'false'], 'to be true or false').transform((text) => text === 'true');
const text = z.string().min(1, 'to have a value');
const wholeNumber = (description: string, min: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/, description)
    .transform(Number)
    .refine((value) => value >= min, description);
const keepAlive = (min_ms: number) => {
  const description = `to be -1 or a whole number of milliseconds from ${min_ms}`;
  return z.union([z.literal('-1').transform(() => -1), wholeNumber(description, min_ms)], description);
};

/** The options of the address. Messages say what is expected of the option. */
const optionsSchema = z
  .object({
    tls: flag.default(true),
    tlsVerifyCert: z
      .literal('true', 'to be true: certificates are always verified; name the CA with tlsCAFile')
      .optional(),
    tlsCAFile: text.optional(),
    userCertFile: text.optional(),
    userKeyFile: text.optional(),
    connectionName: text.optional(),
    nodePreference: z
      .enum(
        ['leader', 'follower', 'read_only_replica', 'random'],
        'to be leader, follower, read_only_replica or random',
      )
      .optional(),
    maxDiscoverAttempts: wholeNumber('to be a whole number from 1', 1).optional(),
    discoveryInterval: wholeNumber('to be a whole number of milliseconds', 0).optional(),
    gossipTimeout: wholeNumber('to be a whole number of seconds from 1', 1).optional(),
    defaultDeadline: wholeNumber('to be a whole number of milliseconds from 1', 1).optional(),
    keepAliveInterval: keepAlive(KEEP_ALIVE_INTERVAL_MS_MIN).default(KEEP_ALIVE_INTERVAL_MS_MIN),
    keepAliveTimeout: keepAlive(1).optional(),
    // Accepted, because it is the client's default. With `false`, the client returns wrong revisions after a lost race.
    throwOnAppendFailure: z.literal('true', 'to be true').optional(),
  })
  .refine(({ userCertFile, userKeyFile }) => (userCertFile === undefined) === (userKeyFile === undefined), {
    path: ['userCertFile'],
    error: 'and userKeyFile together',
  });

type EventStoreOptions = z.output<typeof optionsSchema>;

const OPTION_NAMES = Object.keys(optionsSchema.shape);
/** Names are compared as the client's own parser does: without case, `_` and `-`. */
const comparable = (name: string): string => name.toLowerCase().replace(/[_-]/g, '');
const nameOf = new Map(OPTION_NAMES.map((name) => [comparable(name), name]));
/** A name that may be repeated in a message. Any other text may be a part of a password. */
const PRINTABLE_NAME = /^[a-z][a-z_-]{0,39}$/i;

/** The parts of EVENTSTORE_URL. */
export interface EventStoreAddress extends EventStoreOptions {
  /** At least one. Several hosts, or one with `discover`, are asked for the members of the cluster. */
  readonly hosts: readonly { readonly address: string; readonly port: number }[];
  readonly discover: boolean;
  readonly user: { readonly username: string; readonly password: string } | undefined;
}

/** The address is malformed. The message says what is expected, and contains no part of a user or password. */
export class AddressError extends Error {
  override readonly name = 'AddressError';
}

/**
 * Parses the address of an EventStoreDB server or cluster. Reason: the client's own parser prints the whole address with
 * its password if it has an option that the client does not know. Throws `AddressError`.
 */
export function parseEventStoreAddress(url: string): EventStoreAddress {
  if (!PATTERN.test(url)) throw new AddressError('a URL such as esdb://127.0.0.1:2113?tls=false');
  const { scheme, user, hosts, path, options } = splitUrl(url);
  if (path !== '') throw new AddressError('no path after the hosts');
  const parsed = optionsSchema.safeParse(Object.fromEntries(options.map(toKnownOption)));
  if (!parsed.success) {
    const { path: name, message } = parsed.error.issues[0]!;
    throw new AddressError(`${name.join('.')} ${message}`);
  }
  return {
    ...parsed.data,
    hosts: hosts.map(({ address, port = DEFAULT_PORT }) => ({ address, port })),
    discover: scheme.endsWith('+discover'),
    user,
  };
}

function toKnownOption([name, value]: readonly [string, string]): [string, string] {
  const known = nameOf.get(comparable(name));
  if (known !== undefined) return [known, known === 'nodePreference' ? value.toLowerCase() : value];
  const shown = PRINTABLE_NAME.test(name) ? ` ${name}` : ' that is unknown';
  throw new AddressError(`no option${shown}; the options are ${OPTION_NAMES.join(', ')}`);
}
