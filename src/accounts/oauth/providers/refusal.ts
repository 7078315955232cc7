import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client'
import { AppError } from '../../../platform/errors.ts'

/** The error object of the interface. Source: spec, "Errors", 1; the names are those of RFC 6749 and OpenID Connect. */
export function refusal(error: string, description: string): AppError {
  return new AppError('invalid', description, { error, error_description: description })
}

/**
 * Lists the causes of an error for the log, by their messages only: the library attaches codes and tokens to its
 * errors.
 */
export function reasonsOf(error: unknown): string {
  const reasons: string[] = []
  for (let cause = error; cause !== undefined; cause = cause instanceof Error ? cause.cause : undefined)
    if (cause instanceof Error || typeof cause === 'string') reasons.push(String(cause))
  return reasons.join(': ')
}

/**
 * Explains an error that the provider's library threw.
 *
 * @throws The error itself if it is neither the provider's refusal nor caused by its answer.
 */
export function explainProviderError(error: unknown): AppError {
  for (let cause = error; cause instanceof Error; cause = cause.cause) if (cause instanceof AppError) return cause
  if (error instanceof ResponseBodyError) return refusal(error.error, error.error_description ?? 'The provider refused')
  const isAnswerWrong =
    error instanceof ClientError ||
    error instanceof AuthorizationResponseError ||
    error instanceof WWWAuthenticateChallengeError ||
    // Malformed metadata or key sets.
    error instanceof TypeError ||
    error instanceof DOMException
  if (!isAnswerWrong) throw error
  const wrong = refusal('invalid_token', "The provider's answer is not valid")
  wrong.cause = error
  return wrong
}
