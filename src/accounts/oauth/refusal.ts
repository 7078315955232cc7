import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client'
import { AppError } from '../../platform/errors.ts'

/** The error object of the interface. Source: spec, "Errors", 1; the names are those of RFC 6749 and OpenID Connect. */
export function refusal(error: string, description: string): AppError {
  return new AppError('invalid', description, { error, error_description: description })
}

/** Why, for the log: messages alone, because what the library attaches to its errors holds codes and tokens. */
export function reasonsOf(error: unknown): string {
  const reasons: string[] = []
  for (let cause = error; cause !== undefined; cause = cause instanceof Error ? cause.cause : undefined)
    if (cause instanceof Error || typeof cause === 'string') reasons.push(String(cause))
  return reasons.join(': ')
}

/**
 * What went wrong at the provider, from what its library threw.
 * @throws What is neither the provider's refusal nor a fault of its answer.
 */
export function explainProviderError(error: unknown): AppError {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof AppError) return cause
  if (error instanceof ResponseBodyError)
    return refusal(error.error, error.error_description ?? 'The provider refused.')
  const isAnswerWrong =
    error instanceof ClientError ||
    error instanceof AuthorizationResponseError ||
    error instanceof WWWAuthenticateChallengeError ||
    // Metadata and key sets that are not what they should be.
    error instanceof TypeError ||
    error instanceof DOMException
  if (!isAnswerWrong) throw error
  const wrong = refusal('invalid_token', "The provider's answer is not valid.")
  wrong.cause = error
  return wrong
}
