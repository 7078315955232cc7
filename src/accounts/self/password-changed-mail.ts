import type { Mail } from '../../platform/outbound/mail.ts'
import { composeMail, plainName } from '../mail/compose-mail.ts'
import type { NamedToken } from '../tokens/store-access.ts'
import type { RevokedAccess } from './revoke-access.ts'

/** Composes the mail that lists which access has ended with the old password, and which continues. */
export function passwordChangedMail(to: string, { sessions, tokens, providers, orgTokens }: RevokedAccess): Mail {
  return composeMail({
    to,
    subject: 'Your password was changed',
    paragraphs: [
      'The password of your Signalbox account was changed.',
      `All other sessions were ended (${sessions}).`,
      tokens.length === 0
        ? 'You had no API tokens.'
        : `These API tokens of yours were deleted: ${list(tokens.map(nameOf))}.`,
      providers.length === 0
        ? 'You had linked no OAuth provider.'
        : `These OAuth providers were unlinked: ${list(providers)}. Link them again to sign in by them.`,
      ...orgTokensParagraph(orgTokens),
      'If it was not you, ask for a new password at once: somebody else can sign in as you.',
    ],
  })
}

function orgTokensParagraph(orgTokens: RevokedAccess['orgTokens']): string[] {
  if (orgTokens.length === 0) return []
  const names = orgTokens.map((token) => `${nameOf(token)} of ${plainName(token.orgName)}`)
  return [
    `These API tokens of organizations, which you made, still work: ${list(names)}. Delete those you do not know.`,
  ]
}

const MAX_LISTED = 50

function list(texts: readonly string[]): string {
  const more = texts.length - MAX_LISTED
  return `${texts.slice(0, MAX_LISTED).join(', ')}${more > 0 ? `, and ${more} more` : ''}`
}

function nameOf({ name, keyHint }: NamedToken): string {
  return `"${plainName(name)}" (${keyHint})`
}
