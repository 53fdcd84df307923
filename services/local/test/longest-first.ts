import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Test files that take more than 20 s on two cores, longest first. */
const longFiles = [
  'process-faults',
  'sandbox-evasions',
  'network-faults',
  'agent-faults',
  'turns',
  'upstream',
  'warm',
  'conformance',
  'rotation',
  'real-agent-faults',
  'interrupted-turns',
  'workspace-faults',
  'fuzz',
  'bridge',
  'fair-turns',
  'code-blocks',
  'external-workers',
  'questions',
  'credentials',
  'checker',
];

const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = longFiles.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
  return place === -1 ? longFiles.length : place;
};

/**
 * Starts the longest files first, so that none of them runs alone at the end. Vitest itself knows how long a file takes only after an
 * earlier run in the same clone.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((one, other) => placeOf(one) - placeOf(other));
  }
}
