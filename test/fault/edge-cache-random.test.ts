import { warmAnswersEqualColdOnes } from '../support/warm-answers';

describe('the edge cache on SQLite', () => warmAnswersEqualColdOnes());
