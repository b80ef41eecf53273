import { EXIT } from '../../../services/cli/invocation';
import { limitsArgument } from '../../../services/cli/options';

test('rate limits are three numbers, in the form of the settings of the service', () => {
  const parse = limitsArgument('--limit');
  expect(parse('600/100000/900')).toEqual({ per_minute: 600, per_day: 100_000, burst: 900 });
  const form = 'expected minute/day/burst, such as 100/10000/150.';
  for (const wrong of [
    '',
    '600',
    '600/100000',
    '1/2/3/4',
    '600/100000/-1',
    '600/100000/9.5',
    'a/b/c',
    '1 / 2 / 3',
  ])
    expect(() => parse(wrong)).toThrow(
      expect.objectContaining({ message: `Invalid --limit "${wrong}": ${form}`, exit_code: EXIT.usage }),
    );
  expect(() => parse('0/10/1')).toThrow('Invalid --limit "0/10/1": expected numbers above 0.');
});
