const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Whether the text has the form of a UUID, in either case. Apart from the ids, for it needs nothing of Node. */
export function isUuid(text: string): boolean {
  return UUID.test(text.toLowerCase());
}
