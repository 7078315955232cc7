import { expect, test } from 'vitest'
import type { Progress } from '../../gateway/edge/messages.ts'
import { createProgressFeed } from './progress.ts'

const download = (percent: number): Progress => ({ command_id: 'a', step: 'download', percent })

test('progress is passed on at intervals, and each step at once', () => {
  let nowMs = 0
  const feed = createProgressFeed(() => nowMs)
  const got: Progress[] = []
  const end = feed.listen((progress) => got.push(progress))
  for (nowMs = 0; nowMs < 10_000; nowMs += 10) feed.report(download(nowMs / 100))
  const install = { command_id: 'a', step: 'install', percent: null } as const
  feed.report(install)
  const other = { ...install, command_id: 'b' }
  feed.report(other)
  expect(got).toEqual([download(0), download(50), install, other])
  end()
  nowMs += 10_000
  feed.report(install)
  expect(got).toHaveLength(4)
})

test('only the newest listener gets progress, and the end of an older one does not end it', () => {
  const feed = createProgressFeed(() => 0)
  const got: string[] = []
  const end = feed.listen(() => got.push('old'))
  feed.listen(() => got.push('new'))
  end()
  feed.report(download(1))
  expect(got).toEqual(['new'])
})
