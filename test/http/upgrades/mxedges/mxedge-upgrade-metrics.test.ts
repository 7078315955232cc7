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
      'signalbox_mxedge_upgrades_ended_total{status="completed"} 1',
    ]),
  )
  const running = /^signalbox_mxedge_upgrade(s_running|_appliances)\{/
  expect(lines.filter((line) => running.test(line))).toEqual([])
})
