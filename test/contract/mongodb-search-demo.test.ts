import { describeOn } from '../support/real-servers';
import { searchDemoStories } from '../unit/query/search-demo-stories';

describeOn('MONGODB_URL', 'the search of the demo store on MongoDB', (MONGODB_URL) =>
  searchDemoStories({ MONGODB_URL }),
);
