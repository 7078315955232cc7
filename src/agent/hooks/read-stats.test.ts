import { expect, test } from 'vitest'
import { temporaryDir } from '../../../test/support/temporary-dir.ts'
import { createStatsReader } from './read-stats.ts'
import type { CommandLine } from './run-hook.ts'

const prints = (text: string): CommandLine => ['printf', '%s', text]

function reader(commandLine: CommandLine | undefined) {
  const logged: unknown[] = []
  return { read: createStatsReader(commandLine, (what, details) => logged.push([what, details])), logged }
}

test('the stats of the operator are what the command prints, and nothing is logged', async () => {
  const stats = { num_tunnels: 3, tunterm: { monitoring_failed: true }, oob_ip: { type: 'dhcp', dns: ['192.0.2.1'] } }
  const { read, logged } = reader(prints(`${JSON.stringify(stats)}\n`))
  expect(await read()).toEqual(stats)
  expect(logged).toEqual([])
})

test('what the command writes to its error output is not part of them', async () => {
  const { read, logged } = reader(['sh', '-c', 'echo careful >&2; echo "{\\"num_tunnels\\":1}"'])
  expect(await read()).toEqual({ num_tunnels: 1 })
  expect(logged).toEqual([])
})

test('there are none where no command is configured', async () => {
  const { read, logged } = reader(undefined)
  expect(await read()).toBeNull()
  expect(logged).toEqual([])
})

test.each<[CommandLine, string]>([
  [prints('3 tunnels'), 'printf printed no JSON: 3 tunnels'],
  [prints(''), 'printf printed no JSON: '],
  [prints('{"num_tunnels":"3"}'), "printf printed stats that the agent can't report: num_tunnels must be integer"],
  [prints('{"oob_ip":{"dns":[1]}}'), "printf printed stats that the agent can't report: oob_ip.dns.0 must be string"],
  [prints('[1]'), "printf printed stats that the agent can't report: the whole must be object"],
  [['sh', '-c', 'echo no tunterm >&2; exit 3'], 'sh ended with 3: no tunterm'],
  [['/nonexistent/program'], '/nonexistent/program ended with no start: spawn /nonexistent/program ENOENT'],
])('%j is left out, and the log says why once', async (commandLine, reason) => {
  const { read, logged } = reader(commandLine)
  expect(await read()).toBeNull()
  expect(await read()).toBeNull()
  expect(logged).toEqual([['stats left out', { reason }]])
})

test('a reason that returns after good stats is logged again', async () => {
  // Alternates: the file exists after every second run.
  const folder = await temporaryDir()
  const script = `cd ${folder} && if [ -e good ]; then rm good; echo '{}'; else touch good; echo bad; fi`
  const { read, logged } = reader(['sh', '-c', script])
  expect([await read(), await read(), await read()]).toEqual([null, {}, null])
  expect(logged).toHaveLength(2)
})
