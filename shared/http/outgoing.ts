import type { LookupAddress } from 'node:dns';
import { lookup as resolveName } from 'node:dns/promises';
import { type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { socketHost } from '../kernel/server-url';

/**
 * Which addresses a request may connect to that this service makes for somebody else. Without this, an import file or a
 * webhook could send requests into this machine's private network (SSRF).
 */
export interface AddressRule {
  /** Whether to connect to addresses that are not on the public internet. */
  readonly allow_private: boolean;
  /** Resolves a host name. Default: the resolver of the operating system. */
  readonly resolve?: (host: string) => Promise<readonly LookupAddress[]>;
  /** Decides whether an address is public. Default: `isPublicAddress`. */
  readonly is_public?: (address: string) => boolean;
}

/** Thrown for a host that has no address, or one that the rule does not allow. */
export class HostRefusedError extends Error {
  override readonly name = 'HostRefusedError';

  constructor(readonly reason: 'not_public' | 'no_address') {
    super(reason === 'not_public' ? 'the address is not public' : 'the host has no address');
  }
}

/**
 * Sends a request and returns the response, whatever its status. Throws `HostRefusedError`, and errors of the network and
 * of `options.signal`. Does not follow redirects.
 */
export async function requestAllowed(
  url: URL,
  rule: AddressRule,
  options: RequestOptions,
  body?: string,
): Promise<IncomingMessage> {
  // Node does not look up an IP address.
  const literal = socketHost(url.hostname);
  if (isIP(literal) && !isAllowed(literal, rule)) throw new HostRefusedError('not_public');
  const open = url.protocol === 'https:' ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    let has_response = false;
    // Node would take the name that the certificate must have from a header Host.
    const servername = isIP(literal) ? '' : literal;
    const request = open(url, { ...options, servername, lookup: checkedLookup(rule) }, (response) => {
      has_response = true;
      resolve(response);
    });
    request.on('error', (error: NodeJS.ErrnoException) => {
      // The receiver has ended an idle connection at the moment of the request.
      const is_old = request.reusedSocket && !has_response && error.code === 'ECONNRESET';
      if (is_old) requestAllowed(url, rule, { ...options, agent: false }, body).then(resolve, reject);
      else reject(error);
    });
    request.end(body);
  });
}

/**
 * Returns a look-up function. It fails unless every address of the host is allowed, because Node may use any of them. The
 * connection uses these addresses and does not resolve the host again.
 */
function checkedLookup(rule: AddressRule): LookupFunction {
  const resolve = rule.resolve ?? ((host: string) => resolveName(host, { all: true }));
  return (host, { all }, done) => {
    const check = async (): Promise<readonly LookupAddress[]> => {
      const found = await resolve(host);
      if (found.length === 0) throw new HostRefusedError('no_address');
      if (!found.every(({ address }) => isAllowed(address, rule))) throw new HostRefusedError('not_public');
      return found;
    };
    check().then(
      (found) => (all ? done(null, [...found]) : done(null, found[0]!.address, found[0]!.family)),
      (error: NodeJS.ErrnoException) => done(error, ''),
    );
  };
}

const isAllowed = (address: string, rule: AddressRule): boolean =>
  rule.allow_private || (rule.is_public ?? isPublicAddress)(address);

/** Global unicast addresses (RFC 4291 §2.4). Excludes addresses that contain an IPv4 address (NAT64, IPv4-mapped). */
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/** Returns whether an IP address is on the public internet, by the IANA registries of special-purpose addresses. */
export function isPublicAddress(text: string): boolean {
  if (isIP(text) === 0 || text.includes('%')) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' || address.match(GLOBAL_IPV6);
}
