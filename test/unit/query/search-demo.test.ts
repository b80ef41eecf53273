import { searchDemoStories } from './search-demo-stories';

describe('embedded', () => searchDemoStories());
