import { Admission } from '../../../services/edge/admission';

const WINDOW = 10;
const keysFrom = (first: number, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `GET /api/publication/${first + n}`);

describe('the admission to a full cache', () => {
  let admission: Admission;
  const wasAskedFor = (key: string): boolean => admission.wasAskedFor(key, WINDOW);
  beforeEach(() => {
    admission = new Admission();
  });

  test('is for what is asked for again, and not for what a crawler asks for once', () => {
    expect(keysFrom(0, 1_000).filter(wasAskedFor)).toEqual([]);
    expect(wasAskedFor('GET /api/store')).toBe(false);
    keysFrom(2_000, WINDOW - 1).forEach(wasAskedFor);
    expect(wasAskedFor('GET /api/store')).toBe(true);
  });

  test('forgets what was asked for long ago', () => {
    wasAskedFor('GET /api/store');
    keysFrom(0, 2 * WINDOW).forEach(wasAskedFor);
    expect(wasAskedFor('GET /api/store')).toBe(false);
  });
});
