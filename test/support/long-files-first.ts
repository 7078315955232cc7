import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Tests that start processes and kill them take the longest, although some of their files are among the smallest. */
const LONG = /\/test\/e2e\/|(crash|crashes|kills)\.test\.ts$/

/**
 * Starts the files that take the longest first, so that no worker is busy alone at the end. Where the durations of the
 * last run are unknown, as in a fresh clone, Vitest starts the largest files first; then the longest file of all was
 * started as one of the last ones.
 */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const [long, others] = [true, false].map((isLong) => files.filter(({ moduleId }) => LONG.test(moduleId) === isLong))
    return [...(await super.sort(long ?? [])), ...(await super.sort(others ?? []))]
  }
}
