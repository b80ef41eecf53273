import { z } from 'zod';
import { type AddressRule, requestAllowed } from '../../shared/http/outgoing';
import { LRUCache } from '../../shared/kernel/cache';
import { type Capability, capabilityName, TransportError, VERSION } from './protocol';

/** The part of a platform's profile that decides what this service may answer. */
const profileSchema = z.looseObject({
  ucp: z.looseObject({
    version: z.string().regex(/^\d{4}-\d{2}-\d{2}$/),
    capabilities: z.record(z.string(), z.array(z.looseObject({ version: z.string() }))).default({}),
  }),
});
type Profile = z.infer<typeof profileSchema>;

/** Time limit of a request for a profile, until the end of the response. */
const TIMEOUT_MS = 3_000;
const BYTES_MAX = 131_072;
/** The most characters of the address of a profile. */
const ADDRESS_LENGTH_MAX = 2_048;
const PROFILES_MAX = 1_000;
/** How many profiles are requested at the same time. Others have to wait. */
const REQUESTS_MAX = 8;
/** How long a profile, or a failure, is kept. The protocol requires at least 60 s. */
const KEPT_MS = 60_000;
const RETRY_AFTER_S = 2;

/**
 * Negotiates with platforms (the callers of the protocol): reads the profile whose address each request names, and checks
 * that the platform has the same version. Profiles and failures are kept, so anybody can cause only few requests.
 */
export class Platforms {
  private readonly kept = new LRUCache<string, Promise<Profile>>({ max: PROFILES_MAX, ttl: KEPT_MS });
  private requests = 0;

  constructor(private readonly rule: AddressRule) {}

  /**
   * Returns whether the platform has the capability. Throws `TransportError` if it names no profile, if the profile cannot be
   * read, or if it has another version of the protocol.
   */
  async supports(address: unknown, capability: Capability): Promise<boolean> {
    const { version, capabilities } = (await this.profileAt(address)).ucp;
    if (version !== VERSION)
      throw new TransportError(
        422,
        'version_unsupported',
        `Protocol version ${version} is not supported. This business supports version ${VERSION}.`,
      );
    const offered = capabilities[capabilityName(capability)] ?? [];
    return offered.some((each) => each.version === VERSION);
  }

  private profileAt(address: unknown): Promise<Profile> {
    const kept = this.kept.get(String(address));
    if (kept) return kept;
    const url = urlOf(address, this.rule);
    if (this.requests >= REQUESTS_MAX)
      throw new TransportError(503, 'profile_unreachable', 'Too many profiles are being read', RETRY_AFTER_S);
    this.requests++;
    const reading = this.readProfile(url).finally(() => this.requests--);
    this.kept.set(String(address), reading);
    // A failed reading is kept, too. Each request that awaits it gets its error, so it is not unhandled.
    reading.catch(() => undefined);
    return reading;
  }

  private async readProfile(url: URL): Promise<Profile> {
    const text = await this.readText(url).catch((error: NodeJS.ErrnoException) => {
      // An error of the connection names addresses and files of this machine.
      const reason = error.code === undefined ? error.message : 'the connection failed';
      const content = `The profile of the platform cannot be read: ${reason}`;
      throw new TransportError(424, 'profile_unreachable', content);
    });
    try {
      return profileSchema.parse(JSON.parse(text));
    } catch {
      throw new TransportError(422, 'profile_malformed', 'The profile of the platform is malformed');
    }
  }

  private async readText(url: URL): Promise<string> {
    const options = { headers: { accept: 'application/json' }, signal: AbortSignal.timeout(TIMEOUT_MS) };
    const response = await requestAllowed(url, this.rule, options);
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > BYTES_MAX) throw new Error(`more than ${BYTES_MAX} bytes`);
      chunks.push(chunk);
    }
    if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
    return Buffer.concat(chunks).toString();
  }
}

/** Returns the address of a profile. Throws `TransportError` unless it is an https URL, or http if private ones are allowed. */
function urlOf(address: unknown, { allow_private }: AddressRule): URL {
  const is_short = typeof address === 'string' && address.length <= ADDRESS_LENGTH_MAX;
  const url = is_short && URL.canParse(address) ? new URL(address) : undefined;
  const is_allowed = url && (url.protocol === 'https:' || (allow_private && url.protocol === 'http:'));
  if (url && is_allowed && url.username === '' && url.password === '') return url;
  throw new TransportError(
    400,
    'invalid_profile_url',
    'The platform must name its profile by an https URL: UCP-Agent: profile="https://…", or meta.ucp-agent.profile',
  );
}
