/**
 * Which faults come when, from the seed alone: nothing that happens in the world changes the plan.
 *
 * Faults are dealt like cards: the whole deck comes before any card of it comes again, so that a short storm has tried all.
 */
import { createRandom, deriveSeed } from "./random.ts";

export interface Card {
  name: string;
  /** How often it is in the deck. */
  weight: number;
}

export interface Step {
  /** When it begins, from the start of its round. */
  atMs: number;
  fault: string;
  /** For the choices of this step: target, length, kind of damage. */
  seed: number;
}

export interface RoundShape {
  stepsPerRound: number;
  /** All steps begin within this time. */
  spanMs: number;
}

/** The steps of one round, by the time at which they begin. */
export function planRound(seed: number, round: number, cards: readonly Card[], shape: RoundShape): Step[] {
  const { stepsPerRound, spanMs } = shape;
  const random = createRandom(deriveSeed(seed, "times", round));
  return Array.from({ length: stepsPerRound }, (_, index) => ({
    atMs: random.integer(0, spanMs),
    fault: cardAt(seed, round * stepsPerRound + index, cards),
    seed: deriveSeed(seed, "step", round, index),
  })).sort((a, b) => a.atMs - b.atMs);
}

function cardAt(seed: number, place: number, cards: readonly Card[]): string {
  const deck = cards.flatMap(({ name, weight }) => Array.from({ length: weight }, () => name));
  const shuffled = createRandom(deriveSeed(seed, "deck", Math.floor(place / deck.length))).shuffle(deck);
  return shuffled[place % deck.length]!;
}
