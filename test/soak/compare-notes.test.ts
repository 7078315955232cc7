import { expect, it } from 'vitest'
import { compareNotes } from '../../soak/support/agents/compare-notes.ts'

const versions = { edge: '2.0.0', ssr: '6.1.0' }
const ran = (...whats: string[]): string[] => whats.flatMap((what) => [`begin ${what}`, `end ${what}`])
const edge = { name: 'edge', role: 'edge', lines: ran('install'), version: '2.0.0' } as const
const router = { name: 'router', role: 'ssr', lines: ran('install', 'reboot'), version: '6.1.0' } as const

it('finds nothing if each machine has done everything once, and a router has installed its image again', () => {
  const again = { ...router, lines: ran('install', 'install', 'reboot') }
  const none = { installedTwice: 0, bootedTwice: 0, leftBehind: 0, failed: [] }
  expect(compareNotes([edge, router, again], versions)).toEqual(none)
})

it('counts what was done twice, and machines that were left behind', () => {
  const machines = [
    { ...edge, lines: ran('install', 'install') },
    { ...router, lines: ran('install', 'reboot', 'reboot') },
    { ...router, lines: ran('install') },
    { ...edge, lines: [], version: '1.0.0' },
    { ...edge, lines: ['overlap packages', ...edge.lines] },
  ]
  expect(compareNotes(machines, versions)).toEqual({
    installedTwice: 1,
    bootedTwice: 1,
    leftBehind: 2,
    failed: [
      'edge installed its package 2 times',
      'router rebooted 2 times',
      'router runs 6.1.0 after 0 reboots',
      'edge runs 1.0.0 after 0 reboots',
      'commands of edge ran together: overlap packages',
    ],
  })
})
