import { errorCatalogue } from '../../shared/api/error-catalogue';
import type { CatalogError } from '../../shared/kernel/errors';

/** The release of the protocol (https://ucp.dev) that `services/ucp` implements, as docs/ucp.md says line by line. */
export const VERSION = '2026-08-25';
export const SPECIFICATION = `https://ucp.dev/${VERSION}`;

export type Capability = 'search' | 'lookup';
export const capabilityName = (capability: Capability): string => `dev.ucp.shopping.catalog.${capability}`;

export interface Message {
  readonly type: 'info' | 'warning' | 'error';
  readonly code: string;
  readonly content: string;
  readonly severity?: 'recoverable' | 'unrecoverable';
}

/** The `ucp` member of an answer to an operation of the capability. */
export const metadata = (capability: Capability, status: 'success' | 'error' = 'success') => ({
  version: VERSION,
  status,
  capabilities: { [capabilityName(capability)]: [{ version: VERSION }] },
});

/** Returns the answer that says why an operation has no result. It is sent with HTTP 200: the operation ran. */
export const failure = (capability: Capability, message: Omit<Message, 'type'>) => ({
  ucp: metadata(capability, 'error'),
  messages: [{ type: 'error', ...message }],
});

/** Returns the answer to a platform that does not have the capability in this version. It names the shop instead. */
export const incompatible = (base_url: string) => ({
  ucp: { version: VERSION, status: 'error', capabilities: {} },
  messages: [
    {
      type: 'error',
      code: 'capabilities_incompatible',
      content: `The profile of the platform does not have this capability in version ${VERSION}`,
      severity: 'unrecoverable',
    },
  ],
  continue_url: `${base_url}/`,
});

/** Codes of JSON-RPC errors, as the protocol assigns them. */
const RPC = { negotiation: -32001, unavailable: -32000, invalid: -32602, unreadable: -32700 } as const;

/** Why a request could not be processed: a transport error of the protocol. */
export class TransportError extends Error {
  override readonly name = 'TransportError';

  constructor(
    readonly status: number,
    readonly code: string,
    readonly content: string,
    readonly retry_after_s?: number | undefined,
  ) {
    super(content);
  }

  private get is_negotiation(): boolean {
    return /^(profile|invalid_profile|version)_/.test(this.code);
  }

  /** Returns the body of the answer by REST. If the negotiation failed, it names the shop, which people can use instead. */
  body(base_url: string) {
    const { code, content } = this;
    return { code, content, ...(this.is_negotiation && { continue_url: `${base_url}/` }) };
  }

  get headers(): Record<string, string> {
    return this.retry_after_s === undefined ? {} : { 'Retry-After': String(this.retry_after_s) };
  }

  private get rpc_code(): number {
    if (this.is_negotiation) return RPC.negotiation;
    if (this.code === 'malformed_request') return RPC.unreadable;
    return this.status === 429 || this.status >= 500 ? RPC.unavailable : RPC.invalid;
  }

  /** The HTTP status of the answer by JSON-RPC. Arguments of a tool are no concern of HTTP. */
  get rpc_status(): number {
    return this.rpc_code === RPC.invalid && this.status === 400 ? 200 : this.status;
  }

  /** Returns the `error` of the answer by JSON-RPC. */
  rpcError(base_url: string) {
    const retry_after = this.retry_after_s;
    return {
      code: this.rpc_code,
      message: this.content,
      data: { ...this.body(base_url), ...(retry_after !== undefined && { retry_after }) },
    };
  }

  /** Returns the transport error for an error of a read. */
  static of({ condition, message, faults, retry_after_s }: CatalogError): TransportError {
    const { status, message: meaning } = errorCatalogue[condition];
    const fault = faults.map(({ field, constraint }) => `Invalid ${field}: expected ${constraint}.`)[0];
    return new TransportError(status, condition, fault ?? (message || meaning), retry_after_s);
  }
}

export const invalid = (content: string): TransportError =>
  new TransportError(400, 'invalid_request', content);
