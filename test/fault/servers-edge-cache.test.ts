import { ownNames, SERVER_SETTINGS, serversForTests } from '../support/own-servers';
import { describeOnAll } from '../support/real-servers';
import { warmAnswersEqualColdOnes } from '../support/warm-answers';

describeOnAll(SERVER_SETTINGS, 'the edge cache on EventStoreDB, MongoDB and Redis', () =>
  warmAnswersEqualColdOnes(() => ownNames(serversForTests())),
);
