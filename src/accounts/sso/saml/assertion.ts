import { type Static, Type } from 'typebox'
import { Value } from 'typebox/value'

/** A signed assertion of an identity provider about a person. Times are as written in it. */
export interface Assertion {
  readonly id: string
  readonly issuer: string
  readonly nameId: string
  /** Null if the assertion names none. */
  readonly nameIdFormat: string | null
  readonly confirmations: readonly Confirmation[]
  readonly notBefore: string | null
  readonly notOnOrAfter: string | null
  /** One list per restriction: each must name our entity. */
  readonly audiences: readonly (readonly string[])[]
  readonly authentications: readonly Authentication[]
  /** The values by name; several attributes with the same name count as one. */
  readonly attributes: ReadonlyMap<string, readonly string[]>
}

/** How the bearer proves to be the subject (SubjectConfirmation). */
export interface Confirmation {
  readonly method: string
  readonly recipient: string | null
  readonly inResponseTo: string | null
  readonly notBefore: string | null
  readonly notOnOrAfter: string | null
}

/** One sign-in at the identity provider (AuthnStatement). */
export interface Authentication {
  readonly sessionIndex: string | null
  readonly sessionNotOnOrAfter: string | null
}

// The library's parsed XML has lists of elements by name, attributes under `$` and text under `_`. An element with
// neither is a string.
const attribute = Type.Optional(Type.String())
export const Text = Type.Union([Type.String(), Type.Object({ _: Type.Optional(Type.String()) })])
const Texts = Type.Array(Text)

const ParsedConfirmation = Type.Object({
  $: Type.Object({ Method: Type.String() }),
  SubjectConfirmationData: Type.Optional(
    Type.Array(
      Type.Union([
        Type.String(),
        Type.Object({
          $: Type.Optional(
            Type.Object({
              Recipient: attribute,
              InResponseTo: attribute,
              NotBefore: attribute,
              NotOnOrAfter: attribute,
            }),
          ),
        }),
      ]),
      { maxItems: 1 },
    ),
  ),
})

const One = { minItems: 1, maxItems: 1 }

const Parsed = Type.Object({
  Assertion: Type.Object({
    $: Type.Object({ ID: Type.String({ minLength: 1, maxLength: 256 }) }),
    Issuer: Type.Array(Text, One),
    Subject: Type.Array(
      Type.Object({
        NameID: Type.Array(
          Type.Object({ _: Type.String(), $: Type.Optional(Type.Object({ Format: attribute })) }),
          One,
        ),
        SubjectConfirmation: Type.Array(ParsedConfirmation),
      }),
      One,
    ),
    Conditions: Type.Array(
      Type.Object({
        $: Type.Optional(Type.Object({ NotBefore: attribute, NotOnOrAfter: attribute })),
        AudienceRestriction: Type.Array(Type.Object({ Audience: Texts })),
      }),
      One,
    ),
    AuthnStatement: Type.Array(
      Type.Object({ $: Type.Optional(Type.Object({ SessionIndex: attribute, SessionNotOnOrAfter: attribute })) }),
      { minItems: 1 },
    ),
    AttributeStatement: Type.Optional(
      Type.Array(
        Type.Union([
          Type.String(),
          Type.Object({
            Attribute: Type.Optional(
              Type.Array(
                Type.Object({ $: Type.Object({ Name: Type.String() }), AttributeValue: Type.Optional(Texts) }),
              ),
            ),
          }),
        ]),
      ),
    ),
  }),
})

type Statement = NonNullable<Static<typeof Parsed>['Assertion']['AttributeStatement']>[number]

/**
 * Parses the library's parsed XML of a signed assertion; null if a required element is missing, or repeated where only
 * one is allowed.
 */
export function parseAssertion(parsed: unknown): Assertion | null {
  if (!Value.Check(Parsed, parsed)) return null
  const { Assertion: root } = parsed
  const [issuer] = root.Issuer
  const [subject] = root.Subject
  const [conditions] = root.Conditions
  const [nameId] = subject?.NameID ?? []
  if (issuer === undefined || subject === undefined || conditions === undefined || nameId === undefined) return null
  return {
    id: root.$.ID,
    issuer: textOf(issuer),
    nameId: nameId._,
    nameIdFormat: nameId.$?.Format ?? null,
    confirmations: subject.SubjectConfirmation.map(confirmationOf),
    notBefore: conditions.$?.NotBefore ?? null,
    notOnOrAfter: conditions.$?.NotOnOrAfter ?? null,
    audiences: conditions.AudienceRestriction.map(({ Audience }) => Audience.map(textOf)),
    authentications: root.AuthnStatement.map(({ $ }) => ({
      sessionIndex: $?.SessionIndex ?? null,
      sessionNotOnOrAfter: $?.SessionNotOnOrAfter ?? null,
    })),
    attributes: attributesOf(root.AttributeStatement ?? []),
  }
}

function confirmationOf({ $, SubjectConfirmationData }: Static<typeof ParsedConfirmation>): Confirmation {
  const [data] = SubjectConfirmationData ?? []
  const limits = typeof data === 'object' ? data.$ : undefined
  return {
    method: $.Method,
    recipient: limits?.Recipient ?? null,
    inResponseTo: limits?.InResponseTo ?? null,
    notBefore: limits?.NotBefore ?? null,
    notOnOrAfter: limits?.NotOnOrAfter ?? null,
  }
}

function attributesOf(statements: readonly Statement[]): Map<string, string[]> {
  const attributes = new Map<string, string[]>()
  for (const statement of statements) {
    if (typeof statement === 'string') continue
    for (const { $, AttributeValue = [] } of statement.Attribute ?? [])
      attributes.set($.Name, [...(attributes.get($.Name) ?? []), ...AttributeValue.map(textOf)])
  }
  return attributes
}

export function textOf(text: Static<typeof Text>): string {
  return typeof text === 'string' ? text : (text._ ?? '')
}
