import type { Reply } from '../support/harness';

/** Expects an error response with this status and code, in the structured shape, without any internal details. */
export function expectErrorShape(reply: Reply, status: number, code: string): void {
  const { body } = reply;
  expect([reply.status, body.code, body.status, body.error?.code]).toEqual([status, status, 'error', code]);
  expect(typeof body.error.message).toBe('string');
  expect(typeof body.message).toBe(status === 400 ? 'string' : 'undefined');
  expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(reply.headers.get('x-request-id')).toBeTruthy();
  expect(reply.text).not.toMatch(/sqlite|stack|node_modules|\.ts|\.js/i);
}

/** Same as `expectErrorShape`, and for validation errors also expects the path of the first invalid field. */
export function expectError(reply: Reply, status: number, code: string, field?: string): void {
  expectErrorShape(reply, status, code);
  expect(reply.body.error.details?.field).toBe(field);
}
