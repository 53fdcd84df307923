/** Words of people and words of APIs that mean the same, in groups. A word may be in several. */
const groups = [
  'add create make new insert register append post put set up',
  'remove delete erase forget drop clear discard destroy uninstall',
  'change edit update modify patch alter replace adjust set',
  'show read get view display see fetch retrieve content open look print inspect describe',
  'find search look query lookup locate grep match filter discover',
  'list all browse enumerate folder directory contents index',
  'folder directory dir path',
  'file document',
  'save write store persist keep put disk',
  'rename move relocate transfer',
  'copy duplicate clone fork replicate',
  'size large big info metadata details stat properties status state',
  'open navigate visit go goto url web page site website browser link load',
  'press click tap button select choose pick dropdown option',
  'type fill enter input form write text key keyboard',
  'picture photo image screenshot capture snapshot screen',
  'repeat echo say',
  'connect link relate relation relationship join associate attach',
  'remember memory store create save observe observation fact note know knowledge',
  'person people user contact member entity account customer profile',
  'send post deliver publish message mail email notify share',
  'message chat comment reply text note',
  'add sum plus total calculate compute number',
  'count number amount statistics stats metric',
  'time date day clock now today calendar schedule',
  'meeting event appointment calendar invite',
  'run execute start launch evaluate invoke call trigger perform javascript script code command',
  'stop cancel abort end kill terminate close quit',
  'bug issue ticket problem error defect task',
  'merge pull request pr review branch',
  'repository repo project',
  'money price cost payment pay invoice bill charge refund',
  'buy order purchase cart checkout',
  'weather forecast temperature rain',
  'translate language convert transform',
  'summary summarize shorten abstract overview',
  'permission access right role grant allow',
  'log history event record audit console trace',
  'download fetch export save',
  'upload import attach send',
  'agent worker sub delegate assign hand',
  'wait sleep pause until delay',
  'map place location address route direction geocode',
  'database table sql row column record query',
];

const bySense = new Map<string, Set<string>>();
for (const group of groups) {
  const words = group.split(' ');
  for (const word of words) {
    const others = bySense.get(word) ?? new Set();
    for (const other of words) if (other !== word) others.add(other);
    bySense.set(word, others);
  }
}

/** Other words for a word; empty for one that has none. */
export const synonymsOf = (word: string): readonly string[] => [...(bySense.get(word) ?? [])];
