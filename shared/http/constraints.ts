import type { z } from 'zod';

type RawIssue = z.core.$ZodRawIssue;

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
  null: 'null',
};

const FORMATS: Readonly<Record<string, string>> = {
  url: 'a URL',
  email: 'an e-mail address',
  uuid: 'a UUID',
  guid: 'a UUID',
  datetime: 'an ISO 8601 timestamp',
  safeint: 'an integer',
};

const UNITS: Readonly<Record<string, readonly [one: string, many: string]>> = {
  string: [' character', ' characters'],
  array: [' item', ' items'],
  set: [' item', ' items'],
};

/** What the value should have been, in few words: the `constraint` of a fault. A check's own text comes before this one. */
export function describeConstraint(issue: RawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined || issue.input === null ? 'required' : expected(issue.expected);
    case 'invalid_value':
      return issue.input === undefined ? 'required' : `one of: ${issue.values.map(String).join(', ')}`;
    case 'too_big':
      return `${issue.inclusive === false ? 'less than' : 'at most'} ${sized(issue.maximum, issue.origin)}`;
    case 'too_small':
      return `${issue.inclusive === false ? 'more than' : 'at least'} ${sized(issue.minimum, issue.origin)}`;
    case 'invalid_format':
      return FORMATS[issue.format] ?? 'in the right format';
    case 'not_multiple_of':
      return `a multiple of ${issue.divisor}`;
    case 'unrecognized_keys':
      return 'not a known field';
    default:
      return 'a valid value';
  }
}

function expected(type: string): string {
  return EXPECTED[type] ?? `a ${type}`;
}

function sized(bound: number | bigint, origin: string): string {
  const unit = UNITS[origin];
  return unit === undefined ? `${bound}` : `${bound}${Number(bound) === 1 ? unit[0] : unit[1]}`;
}
