import { expect, it } from 'vitest'
import { upgrade } from '../../../edge/upgrades/upgrade-world.ts'
import { createTestClock } from '../../../support/test-clock.ts'
import { useMxedgeUpgrades } from './mxedge-upgrades-harness.ts'

const clock = createTestClock()
const given = useMxedgeUpgrades(clock)

async function linesOfMetrics(): Promise<string[]> {
  const headers = { authorization: 'Operator operator-key' }
  const answer = await fetch(`${given.world.url}/operator/v1/metrics`, { headers })
  const lines = (await answer.text()).split('\n')
  return lines.filter((line) => line.startsWith('signalbox_mxedge_upgrade'))
}

it('count appliances by result and cause, and show those of running upgrades', async () => {
  const gate = { phase: 1, wait_for: 'approval' }
  const canary = { strategy: 'canary', canary_phases: [40, 100], max_failure_percentage: 100, phase_gates: [gate] }
  const { id } = await upgrade(given.world, given.tunterm(canary))
  await given.play()
  expect(await linesOfMetrics()).toEqual(
    expect.arrayContaining([
      'signalbox_mxedge_upgrades_running{status="upgrading",held="true"} 1',
      'signalbox_mxedge_upgrade_appliances{state="planned"} 1',
      'signalbox_mxedge_upgrade_appliances_ended_total{result="upgraded"} 2',
    ]),
  )
  await given.act(id, 'approve', { phase: 1 })
  clock.advance(20_000)
  await given.play(given.boxes)
  const lines = await linesOfMetrics()
  expect(lines).toEqual(
    expect.arrayContaining([
      'signalbox_mxedge_upgrade_appliances_ended_total{result="upgraded"} 2',
      'signalbox_mxedge_upgrade_appliances_ended_total{result="failed"} 1',
      'signalbox_mxedge_upgrade_appliances_failed_total{cause="refused"} 1',
      'signalbox_mxedge_upgrade_appliance_step_seconds_count{state="commanded"} 3',
      'signalbox_mxedge_upgrade_phase_seconds_count 2',
      'signalbox_mxedge_upgrade_holds_total{by="approval"} 1',
      'signalbox_mxedge_upgrades_ended_total{status="completed"} 1',
    ]),
  )
  const running = /^signalbox_mxedge_upgrade(s_running|_appliances)\{/
  expect(lines.filter((line) => running.test(line))).toEqual([])
})

it('count appliances that are excluded or taken over, upgrades that end by that, and waits for an approval of the start', async () => {
  const names = [
    'signalbox_mxedge_upgrade_appliances_ended_total{result="cancelled"}',
    'signalbox_mxedge_upgrades_ended_total{status="cancelled"}',
    'signalbox_mxedge_upgrade_holds_total{by="approval"}',
  ]
  const values = async () => {
    const lines = await linesOfMetrics()
    // A counter without a line has not counted yet.
    return names.map((name) => Number(lines.find((line) => line.startsWith(name))?.split(' ')[1] ?? 0))
  }
  const before = await values()
  const start_time = Math.floor(clock.now().getTime() / 1000) + 3600
  const { id } = await upgrade(given.world, given.tunterm({ start_time }))
  await given.act(id, 'exclude', { mxedge_ids: given.boxes.slice(0, 1) })
  const phase_gates = [{ phase: 0, wait_for: 'approval' }]
  await upgrade(given.world, given.tunterm({ start_time, supersede: true, phase_gates }))
  const after = await values()
  expect(after.map((value, index) => value - (before[index] ?? 0))).toEqual([3, 1, 1])
})
