import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Tests that start processes, kill them, or use a browser take the longest, although some of their files are among the
 * smallest. They wait for most of that time.
 */
const LONG = /\/test\/(console|e2e|soak)\/|(crash|crashes|kills)\.test\.ts$/

/** The part of the other files of a project among which its long ones start, so that none is left alone at the end. */
const PART = 0.75

/**
 * Spreads the long files among the others, so that other tests use the processors while one waits. Where the durations of
 * the last run are unknown, as in a fresh clone, Vitest starts the largest files first; then the longest file of all was
 * started as one of the last ones.
 */
export class SpreadLongFiles extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const [long, others] = [true, false].map((isLong) =>
      sorted.filter(({ moduleId }) => LONG.test(moduleId) === isLong),
    )
    return spread(long ?? [], others ?? [])
  }
}

/** The files of a project stay together, because each worker serves one project only. The long files are those of the first one. */
function spread(long: readonly TestSpecification[], others: readonly TestSpecification[]): TestSpecification[] {
  const beside = others.filter(({ project }) => project === long[0]?.project)
  const step = (PART * beside.length) / long.length
  const placed = [
    ...long.map((file, index) => ({ file, place: index * step })),
    ...others.map((file, index) => ({ file, place: index })),
  ]
  return placed.toSorted((a, b) => a.place - b.place).map(({ file }) => file)
}
