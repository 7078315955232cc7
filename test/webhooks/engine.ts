import { onTestFinished } from 'vitest'
import type { Clock } from '../../src/platform/time/clock.ts'
import type { WebhookWorkerOptions } from '../../src/webhooks/workers.ts'
import { type Harness, createHarness } from './harness.ts'
import { type Receiver, startReceiver } from './receiver.ts'

/** The webhook engine with a separate database, and a customer's server for its messages. */
export interface Engine<C extends Clock> {
  readonly clock: C
  readonly harness: Harness
  readonly receiver: Receiver
}

/**
 * Prepares an engine and starts a receiver for one test, from its body or a hook. Both end after the test and its hooks.
 * @param ofWorkers Options of all workers that it starts.
 */
export async function startEngine<C extends Clock>(
  clock: C,
  ofWorkers: Partial<WebhookWorkerOptions> = {},
): Promise<Engine<C>> {
  const harness = await createHarness(clock, ofWorkers)
  const receiver = await startReceiver()
  onTestFinished(async () => {
    // Requests that still hang must not delay the stop.
    await receiver.kill()
    await harness.close()
  })
  return { clock, harness, receiver }
}
