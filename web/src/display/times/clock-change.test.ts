import { afterEach, expect, it, vi } from 'vitest'

afterEach(() => {
  vi.unstubAllEnvs()
})

/** Formatters keep the zone in which they were created. */
async function textIn(viewerZone: string, local: string, instant = local, zone?: string): Promise<string | null> {
  vi.stubEnv('TZ', viewerZone)
  vi.resetModules()
  const { clockChangeText } = await import('./clock-change.ts')
  return clockChangeText({ local, instant, zone }, Date.UTC(2026, 5, 1))
}

it.each([
  ['America/New_York', '2026-03-08T02:30', 'Your clock skips this time: 08 Mar, 03:30:00 GMT−4 is meant.'],
  [
    'America/New_York',
    '2026-11-01T01:30',
    'Your clock shows this time twice: the first, 01 Nov, 01:30:00 GMT−4, is meant.',
  ],
  ['Australia/Lord_Howe', '2026-10-04T02:15', 'Your clock skips this time: 04 Oct, 02:45:00 GMT+11 is meant.'],
  [
    'Australia/Lord_Howe',
    '2026-04-05T01:45',
    'Your clock shows this time twice: the first, 05 Apr, 01:45:00 GMT+11, is meant.',
  ],
])('says in %s what %s means when the clocks change', async (zone, local, text) => {
  expect(await textIn(zone, local)).toBe(text)
})

it('says which of two times is meant', async () => {
  const zone = 'America/New_York'
  expect(await textIn(zone, '2026-11-01T01:30', '2026-11-01T05:30:00Z')).toContain('the first, 01 Nov, 01:30:00 GMT−4,')
  expect(await textIn(zone, '2026-11-01T01:30', '2026-11-01T06:30:00Z')).toContain(
    'the second, 01 Nov, 01:30:00 GMT−5,',
  )
})

it.each([
  ['America/New_York', '2026-11-01T00:59'],
  ['America/New_York', '2026-11-01T02:00'],
  ['America/New_York', '2026-03-08T03:00'],
  ['Australia/Lord_Howe', '2026-04-05T01:29'],
  ['Australia/Lord_Howe', '2026-04-05T02:00'],
  ['UTC', '2026-03-08T02:30'],
  ['UTC', 'soon'],
])('says nothing in %s of %s', async (zone, local) => {
  expect(await textIn(zone, local)).toBeNull()
})

it('says what a time means on the clock of a site', async () => {
  const [viewer, zone] = ['Asia/Tokyo', 'America/New_York']
  expect(await textIn(viewer, '2026-03-08T02:30', '2026-03-08T07:30:00Z', zone)).toBe(
    'The clock of the site skips this time: 08 Mar, 03:30:00 GMT−4 is meant.',
  )
  expect(await textIn(viewer, '2026-11-01T01:30', '2026-11-01T06:30:00Z', zone)).toBe(
    'The clock of the site shows this time twice: the second, 01 Nov, 01:30:00 GMT−5, is meant.',
  )
  expect(await textIn(viewer, '2026-11-02T01:30', '2026-11-02T06:30:00Z', zone)).toBeNull()
})
