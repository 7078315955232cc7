import type { Effect } from '../../display/forms/effect.ts'

/** What a removal of people would do, by the addresses that were typed. */
export interface RemovalPlan {
  /** In lower case, each once. */
  readonly emails: readonly string[]
  /** Those of them that sign in by an identity provider. */
  readonly members: readonly string[]
  readonly unknown: readonly string[]
}

interface Member {
  readonly email: string
  readonly via_sso: boolean
}

/** @param text Addresses, separated by spaces, commas or lines. */
export function planRemoval(text: string, admins: readonly Member[]): RemovalPlan {
  const known = new Set(admins.flatMap(({ email, via_sso: bySso }) => (bySso ? [email.toLowerCase()] : [])))
  const emails = [
    ...new Set(
      text
        .toLowerCase()
        .split(/[\s,;]+/)
        .filter((email) => email !== ''),
    ),
  ]
  return {
    emails,
    members: emails.filter((email) => known.has(email)),
    unknown: emails.filter((email) => !known.has(email)),
  }
}

/** Returns the effect of a removal. */
export function removalEffect({ members, unknown }: RemovalPlan, provider: string): Effect {
  const isEmpty = members.length === 0
  return {
    // Another identity provider of the organization may sign some of them in.
    does: isEmpty ? 'Removes' : 'Removes up to',
    counts: [{ count: members.length, one: 'account' }],
    name: isEmpty ? undefined : members.join(', '),
    consequences: [
      isEmpty
        ? 'No account that an identity provider signs in has one of these addresses.'
        : `They are signed out at once. People whom ${provider} still names get a new account at the next sign-in.`,
      isEmpty || unknown.length === 0 ? null : `Not signed in by an identity provider: ${unknown.join(', ')}.`,
    ],
  }
}
