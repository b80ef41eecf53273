import type { Request, Response } from 'express';
import type { JsonObject } from '../catalog/events/envelope';
import { writeJson } from '../catalog/json-text';
import type { KeptAnswer } from '../ports/idempotency-store';
import { endWith } from './compress';
import { etagOf, matchesNone } from './etag';
import type { Answer } from './route';

/** The envelope `{code, status: "OK", data, meta?}` (spec, "Response envelope"), with ETag and 304 on reads. */
export function sendAnswer(req: Request, res: Response, answer: Answer): void {
  const reading = req.method === 'GET' || req.method === 'HEAD';
  const rendered = renderAnswer(answer, reading);
  const { ETag } = rendered.headers;
  if (reading && ETag !== undefined && matchesNone(req.get('if-none-match'), ETag)) {
    setHeaders(res, rendered.headers);
    res.status(304).end();
  } else sendRendered(res, rendered);
}

/** The answer as it goes out: with an ETag for whatever is read, and for a write's resource. */
export function renderAnswer(answer: Answer, reading: boolean): KeptAnswer {
  const status = answer.status ?? 200;
  const data = writeJson(answer.data);
  const meta = answer.meta === undefined ? undefined : JSON.stringify(answer.meta);
  const body = `{"code":${status},"status":"OK","data":${data}${meta === undefined ? '' : `,"meta":${meta}`}}`;
  const tagged = reading || answer.version !== undefined;
  // Without `code`: what a 201 answered is what a GET answers next.
  const content = data + (meta === undefined ? '{}' : `{"meta":${meta}}`);
  const etag: Record<string, string> = tagged ? { ETag: etagOf(answer.version, content) } : {};
  return { status, headers: { ...answer.headers, ...etag }, body };
}

export function sendRendered(res: Response, { status, headers, body }: KeptAnswer): void {
  setHeaders(res, headers);
  sendText(res, status, body);
}

function setHeaders(res: Response, headers: KeptAnswer['headers']): void {
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
}

/** For bodies that are no answer of a route: errors and health. */
export function sendJson(res: Response, status: number, body: JsonObject): void {
  sendText(res, status, JSON.stringify(body));
}

/** Node leaves the body of an answer to HEAD away by itself and keeps its length. */
function sendText(res: Response, status: number, body: string): void {
  res.statusCode = status;
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  endWith(res, body);
}
