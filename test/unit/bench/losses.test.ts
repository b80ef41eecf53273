import { growthOf } from '../../bench/losses';

describe('the comparison of two builds', () => {
  test('marks a cost that has grown by more than a tenth', () => {
    expect(growthOf([116, 115, 117], [100, 100, 100])).toEqual({ times: 1.16, is_loss: true });
    expect(growthOf([109, 108, 110], [100, 100, 100])).toEqual({ times: 1.09, is_loss: false });
  });

  test('marks no cost that has become smaller', () => {
    expect(growthOf([50], [100])).toEqual({ times: 0.5, is_loss: false });
  });

  test('marks no growth that shows in about half of the rounds, as on a busy machine', () => {
    const before = [100, 100, 100, 100, 100, 100, 100, 100, 100, 100];
    expect(growthOf([150, 160, 170, 105, 104, 150, 140, 99, 130, 95], before).is_loss).toBe(false);
  });

  test('marks a growth although whole rounds and single sides of rounds were disturbed', () => {
    const before = [100, 210, 100, 100, 100, 190, 100, 100, 100, 200];
    expect(growthOf([125, 260, 124, 126, 125, 240, 300, 123, 125, 125], before).is_loss).toBe(true);
  });

  test('marks nothing that the system does not report', () => {
    expect(growthOf([Number.NaN], [Number.NaN])).toMatchObject({ is_loss: false });
  });
});
