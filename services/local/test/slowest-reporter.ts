import type { Reporter, TestCase, TestModule } from 'vitest/node';

const count = 10;

/** Prints how long the tests took together, and the slowest of them. */
export default class SlowestReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const msOf = (test: TestCase) => test.diagnostic()?.duration ?? 0;
    const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`;
    const total = tests.reduce((sum, test) => sum + msOf(test), 0);
    const slowest = tests.toSorted((one, other) => msOf(other) - msOf(one)).slice(0, count);
    if (tests.length <= count) return;
    console.log(`\n${tests.length} tests took ${seconds(total)} together; the slowest:`);
    for (const test of slowest) {
      console.log(`  ${seconds(msOf(test)).padStart(8)}  ${test.module.relativeModuleId}: ${test.name}`);
    }
  }
}
