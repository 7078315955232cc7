import { availableParallelism } from 'node:os'
import { AppError, invalidField } from '../errors.ts'
import { limitConcurrency } from '../queues/limit-concurrency.ts'
import type { Decoded, DecoderAnswer, DecoderEnd, DecoderJob, Shrink } from './decoder-job.ts'
import { type DecodeLimits, TOO_LARGE_EXIT_CODE, TOO_SLOW_EXIT_CODE } from './decoder-limits.ts'
import { brokenImage } from './refusals.ts'
import { runDecoder } from './run-decoder.ts'

/** The pause before a busy machine may have time for a picture. */
const RETRY_AFTER_S = 60

/** Limiting their number bounds the memory of all together, and leaves one core free if there are several. */
const inTurn = limitConcurrency({
  running: Math.max(1, Math.min(2, availableParallelism() - 1)),
  waiting: 50,
  refusal: 'Too many images at once: try again soon',
})

/**
 * Decodes a picture to its last line, in a separate process that ends with it: a picture that makes the decoder slow,
 * large or crash affects only that process. See docs/decisions/0014-decoding-in-a-process.md.
 * @throws AppError invalid for a picture that can't be decoded within the limits; rate_limited; unavailable if the machine is too busy.
 */
export async function decodeImage(path: string, limits: DecodeLimits): Promise<Decoded> {
  return inTurn(() => decode({ path, shrink: null }, limits))
}

/** Does the same as decodeImage(), and writes a smaller copy. When this throws, the caller removes a partial copy. */
export async function shrinkImageFile(path: string, shrink: Shrink, limits: DecodeLimits): Promise<Decoded> {
  return inTurn(() => decode({ path, shrink }, limits))
}

async function decode(job: Pick<DecoderJob, 'path' | 'shrink'>, limits: DecodeLimits): Promise<Decoded> {
  const { withinMs, ...own } = limits
  const { output, failure } = await runDecoder({ ...job, ...own }, withinMs)
  if (failure !== null) throw refusalOf(failure, limits) ?? new Error(failure.message)
  const answer = JSON.parse(output) as DecoderAnswer // decoder-process.ts writes it.
  if (answer.kind === 'refused') throw invalidField('file', answer.why)
  return answer
}

/** @returns Undefined if the picture is not the cause: then it is a defect, or the machine can't start a process. */
function refusalOf(
  { killed, code, signal }: NonNullable<DecoderEnd['failure']>,
  { memoryBytes, cpuMs }: DecodeLimits,
): AppError | undefined {
  if (killed) return new AppError('unavailable', 'The machine is too busy to decode the image.', {}, RETRY_AFTER_S)
  if (code === TOO_SLOW_EXIT_CODE)
    return invalidField('file', `takes more than ${cpuMs / 1000} s of processor time to decode`)
  // The system kills the largest process when memory is short.
  if (code === TOO_LARGE_EXIT_CODE || signal === 'SIGKILL')
    return invalidField('file', `takes more than ${memoryBytes / 1024 / 1024} MiB of memory to decode`)
  return signal === null ? undefined : brokenImage()
}
