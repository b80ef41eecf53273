import type { Request, Response } from 'express';
import type { JsonObject } from '../contracts/envelope';
import { etagOf, matchesNone } from './etag';
import type { Answer } from './route';

/** The envelope `{code, status: "OK", data, meta?}` (spec, "Response envelope"), with ETag and 304 on reads. */
export function sendAnswer(req: Request, res: Response, answer: Answer): void {
  const code = answer.status ?? 200;
  const meta = answer.meta === undefined ? {} : { meta: answer.meta };
  const body = JSON.stringify({ code, status: 'OK', data: answer.data, ...meta });
  for (const [name, value] of Object.entries(answer.headers ?? {})) res.setHeader(name, value);
  const reading = req.method === 'GET' || req.method === 'HEAD';
  if (reading || answer.version !== undefined) {
    // Without `code`: what a 201 answered is what a GET answers next.
    const etag = etagOf(answer.version, JSON.stringify(answer.data) + JSON.stringify(meta));
    res.setHeader('ETag', etag);
    if (reading && matchesNone(req.get('if-none-match'), etag)) {
      res.status(304).end();
      return;
    }
  }
  sendText(res, code, body);
}

/** For bodies that are no answer of a route: errors and health. */
export function sendJson(res: Response, status: number, body: JsonObject): void {
  sendText(res, status, JSON.stringify(body));
}

/** Node leaves the body of an answer to HEAD away by itself and keeps its length. */
function sendText(res: Response, status: number, body: string): void {
  res.status(status);
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.setHeader('Content-Length', Buffer.byteLength(body));
  res.end(body);
}
