import { hash } from 'node:crypto';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { errorBody } from '../../shared/api/error-catalogue';
import type { JsonObject } from '../../shared/catalog/events/envelope';
import { CatalogError } from '../../shared/kernel/errors';
import type { Logger } from '../../shared/kernel/log';
import { type ServiceAnswer, sendRequest } from './service-client';
import { requestOf, type Tool } from './tools';

export interface CallOptions {
  /** Returns the address of the service, undefined before it listens. */
  readonly apiUrl: () => string | undefined;
  readonly log: Logger;
}

/** What a call of a tool takes from the message of the client. */
export interface CallContext {
  /** The headers of every request of the client. */
  readonly headers: Readonly<Record<string, string>>;
  /** Called before a request is sent. */
  readonly onSend: () => void;
  /** The name of the session's run. Absent: the client has not initialised a session. */
  readonly run?: string;
  /** The id of the message. A client uses it once in a session. */
  readonly id?: string;
}

/**
 * Sends the request of a tool to the service, and returns the answer. An error of the service is a result that the model can
 * read. A message that a client sends twice is carried out once.
 */
export async function callTool(
  { apiUrl, log }: CallOptions,
  tool: Tool,
  sent: JsonObject,
  { headers, onSend, run, id }: CallContext,
): Promise<CallToolResult> {
  try {
    const request = requestOf(tool, sent, run);
    const of_run: Record<string, string> =
      request.method === 'GET' || run === undefined
        ? {}
        : { 'X-Catalog-Run': run, 'Idempotency-Key': hash('sha256', `${run} ${id}`) };
    const url = apiUrl();
    if (url === undefined) throw new CatalogError('unavailable');
    onSend();
    return resultOf(await sendRequest(url, request, { ...headers, ...of_run }));
  } catch (error) {
    if (!(error instanceof CatalogError)) throw error;
    if (error.condition === 'unavailable') log.warn({ err: error }, 'the request of a tool got no answer');
    const body = errorBody(error);
    return resultOf({
      status: Number(body.code),
      headers: {},
      text: JSON.stringify(body),
      body,
      is_cut: false,
    });
  }
}

const CUT = 'This is only the beginning. Read the rest in pages with the tools that list.';
const WAITING =
  'Nothing has changed yet: this is a proposal. A person has to confirm it in the console. Tell them so, with its id.';

function resultOf({ status, headers, text, body, is_cut }: ServiceAnswer): CallToolResult {
  const retry_after = headers['retry-after'];
  const is_proposal = status === 202 && (body?.data as JsonObject | undefined)?.status === 'waiting';
  const notes = [
    ...(is_cut ? [CUT] : []),
    ...(is_proposal ? [WAITING] : []),
    ...(retry_after === undefined ? [] : [`Call again in ${retry_after} s.`]),
  ];
  return {
    content: [text, ...notes].map((each) => ({ type: 'text', text: each })),
    ...(body && { structuredContent: body }),
    ...(status >= 400 && { isError: true }),
  };
}
