// A few lines instead of a test framework, for Deno and for browsers.

const tests = [];

export function test(name, act) {
  tests.push([name, act]);
}

export function equal(found, wanted) {
  const [one, other] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (one !== other) throw new Error(`${one}\n  is not\n${other}`);
}

export function throws(act, words) {
  try {
    act();
  } catch (error) {
    if (!error.message.includes(words)) throw error;
    return;
  }
  throw new Error(`nothing is thrown, but it should say: ${words}`);
}

// From the name of each test to its error, or null.
export async function outcomes() {
  const found = {};
  for (const [name, act] of tests) {
    try {
      await act();
      found[name] = null;
    } catch (error) {
      found[name] = error.message;
    }
  }
  return found;
}
